// Rows whose accesses depend on the data: sparse matrix times vector, breadth-first search.
#include "data.h"
#include "makers.h"

namespace bench {
namespace {

/// Rows of varying length, some empty: starts[r] to starts[r + 1] are row r's entries, columns below
/// `columns`.
struct Rows {
  std::vector<std::int32_t> starts{0}, entries;
};

/// Lengths are products of two evenly spread numbers: short rows are the most frequent, a quarter of `most`
/// is the mean.
Rows random_rows(std::uint32_t stream, long rows, std::uint32_t columns, std::uint32_t most) {
  Rows result;
  for (long r = 0; r < rows; ++r) {
    const std::uint32_t word = hash(stream, static_cast<std::uint32_t>(r));
    result.starts.push_back(result.starts.back() +
                            static_cast<std::int32_t>(word % most * (word / most % most) / most));
  }
  for (std::int32_t i = 0; i < result.starts.back(); ++i)
    result.entries.push_back(
        static_cast<std::int32_t>(hash(stream + 1, static_cast<std::uint32_t>(i)) % columns));
  return result;
}

template <class T>
void add_buffer(Workload& workload, const std::vector<T>& values) {
  workload.buffers.emplace_back(values.size() * sizeof(T));
  std::memcpy(workload.buffers.back().data(), values.data(), values.size() * sizeof(T));
}

class Spmv : public Workload {
 public:
  Spmv(std::string_view kernel, int threads_per_row, bool quick)
      : kernel_(kernel), threads_per_row_(threads_per_row) {
    size = quick ? 1l << 15 : 1l << 17;
    const Rows matrix = random_rows(30, size, static_cast<std::uint32_t>(size), 128);
    add_buffer(*this, matrix.starts);
    add_buffer(*this, matrix.entries);
    buffers.emplace_back(matrix.entries.size() * sizeof(float));
    for (int i = 0; i < 2; ++i) buffers.emplace_back(size * sizeof(float));
    fill_uniform(buffers[2], 32, -1, 1);
    fill_uniform(buffers[3], 33, -1, 1);
    const double entries = 1e-9 * static_cast<double>(matrix.entries.size());
    // Columns and values stream through; the vector stays in caches.
    work = {"GFLOP/s", 2 * entries, Limit::read, 8 * entries};
  }
  std::vector<Launch> launches() const override {
    return {{"spmv",
             kernel_,
             {blocks(size * threads_per_row_, 256), 1, 1},
             {256, 1, 1},
             {BufferArgument{0}, BufferArgument{1}, BufferArgument{2}, BufferArgument{3}, BufferArgument{4},
              static_cast<std::int32_t>(size)}}};
  }
  void reset() override { fill_unwritten(buffers[4]); }
  Result<void> verify() const override {
    const std::span<std::int32_t> starts = buffers[0].as<std::int32_t>(),
                                  columns = buffers[1].as<std::int32_t>();
    const std::span<float> values = buffers[2].as<float>(), x = buffers[3].as<float>();
    return compare(buffers[4].as<float>(), 1e-5, 1e-5, [&](long row) {
      double sum = 0;
      for (std::int32_t i = starts[row]; i < starts[row + 1]; ++i) sum += double{values[i]} * x[columns[i]];
      return sum;
    });
  }

 private:
  std::string_view kernel_;
  int threads_per_row_;
};

/// Buffers: starts, neighbours, distance, two queues, the count of each level.
class Bfs : public Workload {
 public:
  explicit Bfs(bool quick) {
    size = quick ? kRandomReads / 8 : kRandomReads;
    const Rows graph = random_rows(34, size, static_cast<std::uint32_t>(size), 32);
    while (graph.starts[source_ + 1] - graph.starts[source_] < 3) ++source_;
    search(graph);
    add_buffer(*this, graph.starts);
    add_buffer(*this, graph.entries);
    add_buffer(*this, distance_);
    for (int i = 0; i < 2; ++i) buffers.emplace_back(size * sizeof(std::int32_t));
    buffers.emplace_back((levels_ + 1) * sizeof(std::int32_t));
    double edges = 0;  // of vertices that are reached
    for (long v = 0; v < size; ++v)
      edges += distance_[v] < 0 ? 0 : 1e-9 * (graph.starts[v + 1] - graph.starts[v]);
    work = {"Medge/s", 1e3 * edges, Limit::random_reads, edges};
    reset_each_run = true;
  }
  std::vector<Launch> launches() const override {
    std::vector<Launch> all;
    for (int level = 0; level < levels_; ++level) {
      all.push_back({"bfs",
                     "bfs_level",
                     {128, 1, 1},
                     {256, 1, 1},
                     {BufferArgument{0}, BufferArgument{1}, BufferArgument{2}, BufferArgument{3 + level % 2},
                      BufferArgument{4 - level % 2}, BufferArgument{5}, level}});
    }
    return all;
  }
  void reset() override {
    for (int i : {2, 3, 4}) fill_unwritten(buffers[i]);  // a distance of -1: not reached
    clear(buffers[5]);
    buffers[2].as<std::int32_t>()[source_] = 0;
    buffers[3].as<std::int32_t>()[0] = source_;
    buffers[5].as<std::int32_t>()[0] = 1;
  }
  Result<void> verify() const override {
    return compare_exactly<std::int32_t>(buffers[2].as<std::int32_t>(), distance_);
  }

 private:
  void search(const Rows& graph) {
    distance_.assign(size, -1);
    distance_[source_] = 0;
    for (std::vector<std::int32_t> queue = {source_}, next; !queue.empty(); queue.swap(next), ++levels_) {
      next.clear();
      for (const std::int32_t vertex : queue) {
        for (std::int32_t i = graph.starts[vertex]; i < graph.starts[vertex + 1]; ++i) {
          const std::int32_t to = graph.entries[i];
          if (distance_[to] != -1) continue;
          distance_[to] = levels_ + 1;
          next.push_back(to);
        }
      }
    }
  }
  std::int32_t source_ = 0;
  int levels_ = 0;  ///< that have vertices
  std::vector<std::int32_t> distance_;
};

}  // namespace

namespace workloads {

std::unique_ptr<Workload> spmv_scalar(bool quick) { return std::make_unique<Spmv>("spmv_scalar", 1, quick); }
std::unique_ptr<Workload> spmv_vector(bool quick) { return std::make_unique<Spmv>("spmv_vector", 32, quick); }
std::unique_ptr<Workload> bfs(bool quick) { return std::make_unique<Bfs>(quick); }

}  // namespace workloads
}  // namespace bench
