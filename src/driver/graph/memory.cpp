// See memory.h.
#include "driver/graph/memory.h"

#include <algorithm>
#include <map>

#include "driver/entry.h"
#include "driver/graph/graph.h"
#include "driver/process.h"

namespace raddle::driver {
namespace {

/// All memory of graphs by its address, and what devices' graphs have. Never destroyed, as Process.
struct KnownMemory {
  std::map<CUdeviceptr, std::weak_ptr<GraphMemory>> by_address;
  std::map<CUdeviceptr, std::shared_ptr<GraphMemory>> in_use;
  std::map<const Gpu*, GraphMemoryCounts> counts;
};
KnownMemory& known_memory() {
  static KnownMemory& known = *new KnownMemory;
  return known;
}

/// Of the host, or managed.
struct SourcedMemory final : driver::Memory {
  SourcedMemory(std::shared_ptr<PoolSource> from, DevicePtr address, std::size_t wanted, const Context& of)
      : source_(std::move(from)) {
    kind = source_->kind();
    base = address.value;
    bytes = wanted;
    device = of.gpu.number;
    source_->hand_out(address, wanted);
    pages_ = source_->residency(address);
  }
  ~SourcedMemory() override { source_->free({base}); }
  Residency* residency() override { return pages_.get(); }

 private:
  const std::shared_ptr<PoolSource> source_;
  std::shared_ptr<Residency> pages_;
};

void count(std::uint64_t& now, std::uint64_t& high, std::size_t bytes, bool more) {
  now = more ? now + bytes : now - bytes;
  high = std::max(high, now);
}

}  // namespace

GraphMemoryCounts& graph_memory_counts(const Gpu& gpu) { return known_memory().counts[&gpu]; }

Answer<std::shared_ptr<GraphMemory>> GraphMemory::take(const std::shared_ptr<Context>& context,
                                                       const CUmemPoolProps& props,
                                                       const std::shared_ptr<PoolSource>& source,
                                                       std::size_t bytes) {
  DevicePtr address;
  if (source->kind() == MemoryKind::pooled) {
    if (bytes > context->gpu.memory_available()) return CUDA_ERROR_OUT_OF_MEMORY;
    TRY_ASSIGN(address, context->device.allocate(bytes));
  } else {
    TRY_ASSIGN(address, source->allocate(bytes));
    TRY(Process::instance().memory.add(std::make_shared<SourcedMemory>(source, address, bytes, *context)));
  }
  std::shared_ptr<GraphMemory> memory(new GraphMemory(context, address, bytes, props));
  const auto lock = lock_graphs();
  known_memory().by_address[address.value] = memory;
  GraphMemoryCounts& counts = graph_memory_counts(context->gpu);
  count(counts.reserved, counts.reserved_high, bytes, true);
  return memory;
}

GraphMemory::~GraphMemory() {
  const auto lock = lock_graphs();
  known_memory().by_address.erase(address);
  GraphMemoryCounts& counts = graph_memory_counts(context->gpu);
  count(counts.reserved, counts.reserved_high, bytes, false);
  if (is_of_device())
    (void)context->device.free_later({address});  // launches may still use it
  else
    (void)end_shared(address);
}

bool GraphMemory::is_of(const CUmemPoolProps& props) const {
  return props.allocType == props_.allocType && props.location.type == props_.location.type &&
         props.location.id == props_.location.id;
}

bool GraphMemory::set_in_use(bool wanted) {
  const auto lock = lock_graphs();
  if (is_in_use_.exchange(wanted) == wanted) return false;
  GraphMemoryCounts& counts = graph_memory_counts(context->gpu);
  count(counts.used, counts.used_high, bytes, wanted);
  if (wanted)
    known_memory().in_use.emplace(address, shared_from_this());
  else
    known_memory().in_use.erase(address);
  return true;
}

void GraphMemory::forget(const Context& context) {
  std::vector<std::shared_ptr<GraphMemory>> ended;
  const auto lock = lock_graphs();
  for (const auto& [address, memory] : known_memory().in_use)
    if (memory->context.get() == &context) ended.push_back(memory);
  for (const auto& memory : ended) memory->set_in_use(false);
}

std::shared_ptr<GraphMemory> GraphMemory::find(CUdeviceptr address) {
  const auto lock = lock_graphs();
  const auto found = known_memory().by_address.find(address);
  return found == known_memory().by_address.end() ? nullptr : found->second.lock();
}

std::optional<Status> free_graph_memory(CUdeviceptr address) {
  const std::shared_ptr<GraphMemory> memory = GraphMemory::find(address);
  if (memory == nullptr) return std::nullopt;
  return memory->set_in_use(false) ? Status(CUDA_SUCCESS) : Status(CUDA_ERROR_INVALID_VALUE);
}

namespace entry {

// Graphs keep their memory as long as they are there: nothing is left over that could be given back.
Status cuDeviceGraphMemTrim(In<CUdevice>) { return CUDA_SUCCESS; }

Status cuDeviceGetGraphMemAttribute(In<CUdevice> device, CUgraphMem_attribute attribute, void* value) {
  const auto lock = lock_graphs();
  const GraphMemoryCounts& counts = graph_memory_counts(device);
  const std::uint64_t answers[] = {counts.used, counts.used_high, counts.reserved, counts.reserved_high};
  if (attribute < GRAPH_MEM_USED_CURRENT || attribute > GRAPH_MEM_RESERVED_HIGH)
    return CUDA_ERROR_INVALID_VALUE;
  *static_cast<std::uint64_t*>(value) = answers[attribute];
  return CUDA_SUCCESS;
}

// The highest values can be set back, to what is now.
Status cuDeviceSetGraphMemAttribute(In<CUdevice> device, CUgraphMem_attribute attribute, void* value) {
  const auto lock = lock_graphs();
  GraphMemoryCounts& counts = graph_memory_counts(device);
  if (*static_cast<const std::uint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == GRAPH_MEM_USED_HIGH)
    counts.used_high = counts.used;
  else if (attribute == GRAPH_MEM_RESERVED_HIGH)
    counts.reserved_high = counts.reserved;
  else
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
