// Counts the solutions of the n queens problem by a queue task: one launch, whose blocks append the work that
// they find (examples/kernels/queens.cu, docs/tasks.md).
//   queens [n [engine]]
#include <cstdio>
#include <cstdlib>

#include "raddle/raddle.h"

namespace {

struct Board {
  std::uint32_t columns = 0, left = 0, right = 0, rows = 0;
};

struct Count {
  std::uint64_t solutions = 0, refused = 0;  ///< refused: boards for which the queue had no room
  std::uint64_t boards = 0;                  ///< entries of the queue
  double seconds = 0;
};

raddle::Result<Count> count_queens(std::uint32_t n, const char* engine) {
  constexpr std::uint32_t kSlots = 256, kRowsLeft = 5;
  raddle::DeviceOptions options;
  options.engine = engine;
  TRY_ASSIGN(auto device, raddle::Device::open(options));
  TRY_ASSIGN(auto module, device.load_file(RADDLE_EXAMPLES_DIR "/kernels/queens.ptx"));
  TRY_ASSIGN(auto kernel, module.kernel("queens"));
  TRY_ASSIGN(auto counts, device.buffer(std::vector<std::uint64_t>(2)));

  // The task: what to run, and a queue that ends when nothing is left to do.
  const raddle::DevicePtr solutions = counts.address(), refused = counts.address() + sizeof(std::uint64_t);
  TRY_ASSIGN(auto record, kernel.record({.block = {32}}, n, kRowsLeft, solutions, refused));
  record.make_queue(kSlots, sizeof(Board), raddle::QueueEnding::drained);
  record.ready = 1;  // the empty board: memory that has just been allocated is 0
  TRY_ASSIGN(const raddle::DevicePtr task, device.allocate(sizeof record + record.queue_bytes()));
  TRY(device.fill(task, 0, sizeof record + record.queue_bytes()));
  TRY(device.write(task, &record, sizeof record));

  TRY_ASSIGN(auto walk, device.default_stream().launch(task));
  TRY_ASSIGN(const raddle::LaunchReport report, walk.wait());
  std::vector<std::uint64_t> found(2);
  TRY(counts.read(found));
  TRY(device.read(&record, task, sizeof record));
  return Count{found[0], found[1], record.appended, report.seconds};
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::uint64_t kKnown[] = {1,  1,   0,   0,    2,     10,    4,      40,
                                      92, 352, 724, 2680, 14200, 73712, 365596, 2279184};
  const std::uint32_t n = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 10;
  if (n < 1 || n >= std::size(kKnown)) return std::fprintf(stderr, "queens [1 to 15 [engine]]\n"), 2;
  const raddle::Result<Count> count = count_queens(n, argc > 2 ? argv[2] : "");
  if (!count.ok()) return std::fprintf(stderr, "%s\n", count.error().to_string().c_str()), 1;
  std::printf("%u queens: %llu ways, by %llu boards in a queue of 256 and %llu beside it, in %.1f ms\n", n,
              static_cast<unsigned long long>(count->solutions),
              static_cast<unsigned long long>(count->boards), static_cast<unsigned long long>(count->refused),
              count->seconds * 1e3);
  return count->solutions == kKnown[n] ? 0 : 1;
}
