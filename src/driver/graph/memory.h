// Memory of graphs: allocation nodes. The address is fixed when the node is made, so its memory is taken then
// and belongs to the graph and what is made of it; a launch only says that it is in use, and then it lives
// until it is freed, whatever becomes of the graph. A graph takes memory
// that it has freed before again, where the order of its nodes allows it.
#pragma once

#include <atomic>
#include <memory>

#include "driver/objects.h"
#include "driver/pool_source.h"
#include "driver/status.h"

namespace raddle::driver {

class GraphMemory : public std::enable_shared_from_this<GraphMemory> {
 public:
  /// @param source  of these properties (source_for); of a device's memory, the context's own is taken
  /// CUDA_ERROR_OUT_OF_MEMORY
  static Answer<std::shared_ptr<GraphMemory>> take(const std::shared_ptr<Context>& context,
                                                   const CUmemPoolProps& props,
                                                   const std::shared_ptr<PoolSource>& source,
                                                   std::size_t bytes);
  ~GraphMemory();

  const std::shared_ptr<Context> context;
  const CUdeviceptr address;
  const std::size_t bytes;

  /// Whether memory with these properties would be in the same place.
  bool is_of(const CUmemPoolProps& props) const;
  bool is_in_use() const { return is_in_use_; }
  /// A launch allocates it, or frees it: the graph's or the program's. @returns whether it was the other way
  bool set_in_use(bool wanted);
  /// A context ends: what its program has not freed goes with it.
  static void forget(const Context& context);
  /// The memory that begins here; null: it is no graph's.
  static std::shared_ptr<GraphMemory> find(CUdeviceptr address);

 private:
  GraphMemory(std::shared_ptr<Context> of, DevicePtr taken, std::size_t wanted, const CUmemPoolProps& props)
      : context(std::move(of)), address(taken.value), bytes(wanted), props_(props) {}
  bool is_of_device() const {
    return props_.allocType == ALLOCATION_PINNED && props_.location.type == LOCATION_DEVICE;
  }

  const CUmemPoolProps props_;
  std::atomic<bool> is_in_use_{false};
};

/// Bytes of a device's graphs, now and at most: in use, and taken from the device.
struct GraphMemoryCounts {
  std::uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
};
GraphMemoryCounts& graph_memory_counts(const Gpu& gpu);  ///< under the lock of graphs

/// If it is memory of a graph that is in use, the program has freed it. CUDA_ERROR_INVALID_VALUE: it is not
/// in use; no value: it is no graph's
std::optional<Status> free_graph_memory(CUdeviceptr address);

}  // namespace raddle::driver
