// The driver's state in this process: the device, its primary context, the handles, each thread's stack of
// contexts. Made by cuInit and never destroyed, for programs call the driver from their own destructors.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "driver/array.h"
#include "driver/memory_table.h"
#include "driver/objects.h"
#include "driver/pool.h"
#include "driver/virtual_memory.h"
#include "machine/memory/device_memory.h"
#include "machine/shape/machine_shape.h"

namespace raddle::driver {

class Process {
 public:
  static Process& instance();

  CUresult initialise();
  bool initialised() const { return initialised_.load(std::memory_order_acquire); }

  const machine::MachineShape& shape() const { return shape_; }
  /// Memory of the device that may be allocated. @errors as Device::open
  Result<std::uint64_t> memory_bytes();
  /// Of that, what neither contexts nor what they share have taken.
  std::uint64_t memory_available(const Context& context);
  Result<std::uint64_t> memory_available();  ///< also without a context. @errors as Device::open
  /// Device memory for all contexts. @errors out_of_memory
  Result<DevicePtr> allocate_shared(const Context& context, std::uint64_t bytes);
  Result<machine::FilePages> share(DevicePtr address) { return shared_.share(address); }
  void free_shared(DevicePtr address) { (void)shared_.free(address); }
  void synchronize_all();  ///< all contexts
  /// Lets an object live until the work given so far, in all contexts, is done. Does not wait.
  void keep_while_used(const std::shared_ptr<const void>& object);

  Result<std::shared_ptr<Context>> create_context(unsigned flags);
  /// And all that it made. Work that gets on may finish, what does not is cancelled.
  void destroy_context(const std::shared_ptr<Context>& context);

  Result<std::shared_ptr<Context>> retain_primary();
  CUresult release_primary();
  void reset_primary();
  bool primary_active();
  unsigned primary_flags = 0;

  /// CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, by the allocation's id: fills that are not asynchronous by name are
  /// not so.
  bool sync_memops(std::uint64_t id);
  void set_sync_memops(std::uint64_t id, bool wanted);

  HandleTable<Context, 1> contexts;
  HandleTable<Module, 2> modules;
  HandleTable<Function, 3> functions;
  HandleTable<Stream, 4> streams;
  HandleTable<Event, 5> events;
  HandleTable<Array, 11> arrays;
  HandleTable<MipmappedArray, 12> mipmapped_arrays;
  HandleTable<Library, 6> libraries;
  HandleTable<Kernel, 7> kernels;
  HandleTable<Pool, 13> pools;
  HandleTable<PhysicalMemory, 14> physical_memories;
  MemoryTable memory;
  std::atomic<std::uint64_t> physical_bytes{0};  ///< of cuMemCreate
  HandleTable<Link, 8> links;

  CUmemoryPool default_pool();
  std::atomic<CUmemoryPool> chosen_pool{nullptr};  ///< of cuDeviceSetMemPool

 private:
  Process() = default;
  std::uint64_t memory_used();
  void end_objects_of(const std::shared_ptr<Context>& context);
  void end_destroyed_contexts();

  std::atomic<bool> initialised_{false};
  std::mutex mutex_;
  machine::MachineShape shape_;
  DistributorOptions distributor_;
  std::shared_ptr<Context> primary_;
  /// Destroyed, but a function of the program that one of their streams called has not returned.
  std::vector<std::shared_ptr<Context>> ending_;
  machine::DeviceMemory shared_{~std::uint64_t{0}};  ///< its limit is memory_available()
  unsigned primary_uses_ = 0;
  std::set<std::uint64_t> sync_memops_;
  CUmemoryPool default_pool_ = nullptr;
};

/// The calling thread's contexts; the last is current.
std::vector<std::shared_ptr<Context>>& context_stack();

/// CUDA_SUCCESS if the driver is initialised in this process (not its parent) and there is such a device.
CUresult check_device(CUdevice device);

/// The current context. CUDA_ERROR_NOT_INITIALIZED, INVALID_CONTEXT, CONTEXT_IS_DESTROYED, or its sticky
/// error.
CUresult current_context(std::shared_ptr<Context>& context);

/// A stream argument: nullptr and the two numbers that stand for default streams, or a handle; of the current
/// context.
CUresult find_stream(CUstream handle, const std::shared_ptr<Context>& context,
                     std::shared_ptr<Stream>& stream);

/// While it lives, this thread runs a function of the program for a stream; such functions must not call
/// CUDA, as a stream that waits for them could be waited for. The calls answer CUDA_ERROR_NOT_PERMITTED.
struct InCallback {
  InCallback();
  ~InCallback();
};

/// Whether nullptr means the calling thread's own default stream, as in the entries that end in _ptsz and
/// _ptds.
bool& null_is_per_thread();

}  // namespace raddle::driver
