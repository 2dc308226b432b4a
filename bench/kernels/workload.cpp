#include "workload.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "base/assert.h"
#include "base/round_up.h"
#include "names.h"
#include "workloads/makers.h"

namespace bench {
namespace {

using raddle::round_up;

struct Entry {
  bool headline;
  std::unique_ptr<Workload> (*make)(bool quick);
};

constexpr Entry kEntries[] = {
// in the order of Kernel
#define BENCH_KERNEL(name, headline) {headline, workloads::name},
#include "kernels.def"
#undef BENCH_KERNEL
};

}  // namespace

// Two streams whose distance is a power of two meet in the same banks of memory: on a Zen 4 an update of one
// core gets 24 GB/s then, and 45 elsewhere. So buffers that are used together begin at different distances
// from a huge page.
Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  constexpr std::size_t kHugePage = 2ul << 20, kPlaces = 8, kApart = 17 * 4096;
  static std::atomic<std::size_t> count{0};
  const std::size_t before = count++ % kPlaces * kApart;
  mapped_bytes_ = kHugePage + before + bytes;
  mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RADDLE_ASSERT(mapped_ != MAP_FAILED, "no memory for a benchmark buffer");
  madvise(mapped_, mapped_bytes_, MADV_HUGEPAGE);
  data_ = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::size_t>(mapped_), kHugePage) + before);
  std::memset(data_, 0, bytes);
}

Buffer::~Buffer() {
  if (mapped_) munmap(mapped_, mapped_bytes_);
}

std::unique_ptr<Workload> make_workload(Kernel kernel, bool quick) {
  const Entry& entry = kEntries[static_cast<int>(kernel)];
  std::unique_ptr<Workload> workload = entry.make(quick);
  workload->kernel = kernel;
  workload->name = kernel_name(kernel);
  workload->headline = entry.headline;
  workload->reset();
  return workload;
}

}  // namespace bench
