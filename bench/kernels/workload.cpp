#include "workload.h"

#include <sys/mman.h>

#include <cstring>

#include "base/assert.h"
#include "names.h"
#include "workloads/makers.h"

namespace bench {
namespace {

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

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RADDLE_ASSERT(memory != MAP_FAILED, "no memory for a benchmark buffer");
  madvise(memory, bytes, MADV_HUGEPAGE);
  std::memset(memory, 0, bytes);
  data_ = static_cast<std::byte*>(memory);
}

Buffer::~Buffer() {
  if (data_) munmap(data_, bytes_);
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
