// Examples whose work depends on the data: sparse matrix times vector, breadth-first search, string search.

#include "example.h"

namespace examples {
namespace {

/// Rows of varying length, some empty: starts[r] to starts[r + 1] are row r's entries.
struct Rows {
  std::vector<int> starts, entries;
};

/// @param most  entries of a row, exclusive; short rows are the most frequent
Rows random_rows(std::uint32_t seed, int rows, int columns, int most) {
  Rows result{{0}, {}};
  const std::vector<std::uint32_t> words = random_words(seed, rows);
  for (const std::uint32_t word : words) {
    const int length = static_cast<int>(word % most) * static_cast<int>(word / most % most) / most;
    result.starts.push_back(result.starts.back() + length);
  }
  for (const std::uint32_t word : random_words(seed + 1, result.starts.back()))
    result.entries.push_back(static_cast<int>(word % columns));
  return result;
}

Example spmv(Size size, unsigned threads, const std::string& kernel, int threads_per_row) {
  const int rows = size == Size::small ? 1003 : 100003;
  const Rows matrix = random_rows(30, rows, rows, 64);
  const std::vector<float> values = random_floats(32, matrix.entries.size(), -1, 1),
                           x = random_floats(33, rows, -1, 1);
  Example example{kernel,
                  "spmv",
                  {to_bytes(matrix.starts), to_bytes(matrix.entries), to_bytes(values), to_bytes(x),
                   unwritten(rows * sizeof(float))}};
  example.steps = {{kernel,
                    {blocks_for(std::int64_t{rows} * threads_per_row, threads), 1, 1},
                    {threads, 1, 1},
                    {BufferRef{0}, BufferRef{1}, BufferRef{2}, BufferRef{3}, BufferRef{4}, rows}}};
  example.work = 2e-9 * static_cast<double>(values.size());
  example.unit = "GFLOP/s";
  example.check = [=](const std::vector<Bytes>& results) {
    std::vector<double> want(rows);
    for (int row = 0; row < rows; ++row) {
      for (int i = matrix.starts[row]; i < matrix.starts[row + 1]; ++i)
        want[row] += double{values[i]} * x[matrix.entries[i]];
    }
    return check_floats(from_bytes<float>(results[4]), want, 1e-5, 1e-5);
  };
  return example;
}

/// Distances from one vertex, -1 where there is no path; and how many vertices are at each.
struct Levels {
  std::vector<int> distance, counts;
};

Levels search(const Rows& graph, int source) {
  Levels levels{std::vector<int>(graph.starts.size() - 1, -1), {}};
  levels.distance[source] = 0;
  for (std::vector<int> queue = {source}, next; !queue.empty(); queue.swap(next)) {
    next.clear();
    for (const int vertex : queue) {
      for (int i = graph.starts[vertex]; i < graph.starts[vertex + 1]; ++i) {
        const int to = graph.entries[i];
        if (levels.distance[to] != -1) continue;
        levels.distance[to] = static_cast<int>(levels.counts.size()) + 1;
        next.push_back(to);
      }
    }
    levels.counts.push_back(static_cast<int>(queue.size()));
  }
  levels.counts.push_back(0);  // the level that finds nothing more
  return levels;
}

template <class T>
std::vector<std::uint32_t> as_words(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

Example bfs(Size size, unsigned threads) {
  const int vertices = size == Size::small ? 2003 : 300007;
  const Rows graph = random_rows(34, vertices, vertices, 24);
  int source = 0;
  while (graph.starts[source + 1] - graph.starts[source] < 3) ++source;
  const Levels want = search(graph, source);
  std::vector<int> distance(vertices, -1), counts(want.counts.size()), queue(vertices);
  distance[source] = 0, counts[0] = 1, queue[0] = source;
  Example example{"bfs",
                  "bfs",
                  {to_bytes(graph.starts), to_bytes(graph.entries), to_bytes(distance), to_bytes(queue),
                   to_bytes(queue), to_bytes(counts)}};
  for (int level = 0; level + 1 < static_cast<int>(counts.size()); ++level) {
    example.steps.push_back({"bfs_level",
                             {size == Size::small ? 4u : 128u, 1, 1},
                             {threads, 1, 1},
                             {BufferRef{0}, BufferRef{1}, BufferRef{2}, BufferRef{3 + level % 2},
                              BufferRef{4 - level % 2}, BufferRef{5}, level}});
  }
  example.work = 1e-6 * static_cast<double>(graph.entries.size());
  example.unit = "Medge/s";
  example.check = [want](const std::vector<Bytes>& results) {
    const CheckResult distances = check_words(as_words(from_bytes<int>(results[2])), as_words(want.distance));
    return distances.ok ? check_words(as_words(from_bytes<int>(results[5])), as_words(want.counts))
                        : distances;
  };
  return example;
}

const std::vector<std::string> kPatterns = {
    "a", "abra", "cad", "dacabradac", "bbbb", "abracadabraabracadabra", "rr"};

Example string_search(Size size, unsigned threads) {
  const int length = size == Size::small ? 20011 : 1000003;
  std::string text;
  for (const std::uint32_t word : random_words(36, length)) {  // pieces of words: long matches occur, too
    if (static_cast<int>(text.size()) < length)
      text += word % 8 == 0 ? "abracadabra" : std::string(1, "abcdr"[word / 8 % 5]);
  }
  text.resize(length);
  std::string joined;
  std::vector<int> starts = {0};
  for (const std::string& pattern : kPatterns) {
    joined += pattern;
    starts.push_back(static_cast<int>(joined.size()));
  }
  const int patterns = static_cast<int>(kPatterns.size());
  Example example{"string_search",
                  "string_search",
                  {to_bytes(std::vector<char>(text.begin(), text.end())),
                   to_bytes(std::vector<char>(joined.begin(), joined.end())), to_bytes(starts),
                   unwritten(length * sizeof(std::uint32_t)), Bytes(patterns * sizeof(std::uint32_t))}};
  example.steps = {
      {"string_search",
       {blocks_for(length, threads), 1, 1},
       {threads, 1, 1},
       {BufferRef{0}, length, BufferRef{1}, BufferRef{2}, patterns, BufferRef{3}, BufferRef{4}}}};
  example.work = 1e-6 * length;
  example.unit = "Mbyte/s";
  example.check = [=](const std::vector<Bytes>& results) {
    std::vector<std::uint32_t> found(length), counts(patterns);
    for (int p = 0; p < patterns; ++p) {
      for (auto at = text.find(kPatterns[p]); at != std::string::npos; at = text.find(kPatterns[p], at + 1))
        found[at] |= 1u << p, ++counts[p];
    }
    const CheckResult places = check_words(from_bytes<std::uint32_t>(results[3]), found);
    return places.ok ? check_words(from_bytes<std::uint32_t>(results[4]), counts) : places;
  };
  return example;
}

}  // namespace

std::vector<Example> make_irregular_examples(Size size, unsigned threads) {
  return {spmv(size, threads, "spmv_scalar", 1), spmv(size, threads, "spmv_vector", 32), bfs(size, threads),
          string_search(size, threads)};
}

}  // namespace examples
