// No allocation on the launch path once a kernel has run (K-10): every operator new, mmap and mprotect would
// show, the first as a count, the others as growth of the process's mappings.
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>

#include "machine_fixture.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define RADDLE_COUNT_ALLOCATIONS 1
#endif
#else
#define RADDLE_COUNT_ALLOCATIONS 1
#endif
#endif

#ifdef RADDLE_COUNT_ALLOCATIONS
namespace {
std::atomic<long> allocations{0};
}
void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(bytes)) return p;
  std::abort();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace raddle::machine {
namespace {

long mappings() {
  std::ifstream maps("/proc/self/maps");
  long count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

using Allocations = MachineTest;

// proves: K-10d
TEST_F(Allocations, LaunchesAfterTheFirstOnesAllocateNothing) {
  open();
  auto kernel = TestKernel::of_warps(
      [](exec::WarpContext& warp) { warp.cta->services->barrier_sync(&warp, 0, 0, warp.live_lanes); });
  const GridSize grid{.x = 100, .threads = 256, .shared = 4096, .local = 128};
  const auto every_worker_ran = [&] {
    for (unsigned i = 0; i < machine_->worker_count(); ++i) {
      if (space_->block_count(i).completed == 0) return false;
    }
    return true;
  };
  for (int i = 0; i < 20 || (i < 20000 && !every_worker_ran()); ++i) run(kernel, grid);
  if (!every_worker_ran()) GTEST_SKIP() << "the host gave a worker no time";
  const long mapped = mappings(), before = allocations;
  for (int i = 0; i < 200; ++i) run(kernel, grid);
  const long after = allocations;
  EXPECT_EQ(after - before, 0);
  EXPECT_EQ(mappings(), mapped);
}

}  // namespace
}  // namespace raddle::machine
#endif
