// The driver's state in this process: its devices, the handles, each thread's stack of contexts. Made by
// cuInit and never destroyed, for programs call the driver from their own destructors.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>

#include "driver/array.h"
#include "driver/gpu.h"
#include "driver/memory_table.h"
#include "driver/objects.h"
#include "driver/pool.h"
#include "driver/status.h"
#include "driver/virtual_memory.h"
#include "runtime/memory.h"
#include "runtime/model.h"

namespace raddle::driver {

class Process {
 public:
  static Process& instance();

  Status initialise();
  bool initialised() const { return initialised_.load(std::memory_order_acquire); }

  /// Its devices, by number, at least one once it is initialised.
  std::span<const std::unique_ptr<Gpu>> gpus() const { return gpus_; }
  Gpu& gpu(CUdevice number) { return *gpus_[static_cast<std::size_t>(number)]; }
  void synchronize_all();  ///< all contexts
  /// Lets an object live until the work given so far, in all contexts, is done. Does not wait.
  void keep_while_used(const std::shared_ptr<const void>& object);

  Result<std::shared_ptr<Context>> create_context(Gpu& gpu, unsigned flags);
  /// Also ends all that it made. Work that gets on may finish; other work is cancelled.
  void destroy_context(const std::shared_ptr<Context>& context);

  /// CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, by the allocation's id: fills without Async in their name are
  /// synchronous.
  bool sync_memops(std::uint64_t id);
  void set_sync_memops(std::uint64_t id, bool wanted);

#define HANDLE(object, handle, table, number, wrong) HandleTable<object, handle, number> table;
#include "driver/handles.def"
#undef HANDLE
  MemoryTable memory;
  DeviceMemory managed{~std::uint64_t{0}};  ///< limited when it is taken
  DeviceMemory pinned{~std::uint64_t{0}};   ///< of pools of the host

 private:
  Process() = default;
  Status find_devices();
  void end_objects_of(const std::shared_ptr<Context>& context);
  void end_destroyed_contexts();

  std::atomic<bool> initialised_{false};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  /// Destroyed, but a function of the program that one of their streams called has not returned.
  std::vector<std::shared_ptr<Context>> ending_;
  std::set<std::uint64_t> sync_memops_;
  std::atomic<bool> any_syncs_memops_{false};  // changed under the lock
  std::atomic<unsigned> contexts_made_{0};
};

/// The calling thread's contexts; the last is current.
std::vector<std::shared_ptr<Context>>& context_stack();

/// CUDA_ERROR_NOT_INITIALIZED: by nobody, or in the parent only; NOT_PERMITTED: in a function that a stream
/// called
Status check_driver();
/// CUDA_ERROR_INVALID_DEVICE: no device has that number. Also as check_driver().
Status check_device(CUdevice device);
/// That of the current context, or the first where no context is current.
Gpu& current_gpu();

/// CUDA_ERROR_CONTEXT_IS_DESTROYED, its sticky error
Status check_context(Context& context);
/// The current context. CUDA_ERROR_INVALID_CONTEXT, CONTEXT_IS_DESTROYED, its sticky error; also as
/// check_driver().
Answer<std::shared_ptr<Context>> current_context();

/// Where the live objects of a kind are, and the answer to any other handle.
template <class Object>
struct ObjectKind;
#define HANDLE(object, handle, table, number, wrong_handle)           \
  template <>                                                         \
  struct ObjectKind<object> {                                         \
    static constexpr CUresult wrong = wrong_handle;                   \
    static auto& table_of(Process& process) { return process.table; } \
  };
#include "driver/handles.def"
#undef HANDLE

/// The live object of a handle, for the adaptor of entries, and for handles in structures.
/// @param here  the current context, for functions, arrays, textures and surfaces, which must be its own, and
/// for default streams
template <class Object>
Answer<std::shared_ptr<Object>> find(HandleOf<Object> handle, const std::shared_ptr<Context>& = nullptr) {
  auto object = ObjectKind<Object>::table_of(Process::instance()).find(handle);
  if (object == nullptr) return ObjectKind<Object>::wrong;
  return object;
}
template <>
Answer<std::shared_ptr<Array>> find<Array>(CUarray handle, const std::shared_ptr<Context>& here);
template <>
Answer<std::shared_ptr<MipmappedArray>> find<MipmappedArray>(CUmipmappedArray handle,
                                                             const std::shared_ptr<Context>& here);
/// Of any context. Also the two numbers that stand for the current one's default streams, and null: the
/// legacy or the thread's own. These live as long as the context, whoever has them.
template <>
Answer<std::shared_ptr<Stream>> find<Stream>(CUstream handle, const std::shared_ptr<Context>& here);
/// Also a CUkernel, which stands for its function; ready to be launched. CUDA_ERROR_INVALID_CONTEXT: a
/// function of another context; NOT_SUPPORTED: it cannot run
template <>
Answer<std::shared_ptr<Function>> find<Function>(CUfunction handle, const std::shared_ptr<Context>& here);
template <>
Answer<std::shared_ptr<Texture>> find<Texture>(CUtexObject handle, const std::shared_ptr<Context>& here);
template <>
Answer<std::shared_ptr<Surface>> find<Surface>(CUsurfObject handle, const std::shared_ptr<Context>& here);

/// Whether objects of a kind are found in the current context only.
template <class Object>
inline constexpr bool kIsOfContext =
    (std::is_same_v<Object, Array> || std::is_same_v<Object, MipmappedArray> ||
     std::is_same_v<Object, Stream> || std::is_same_v<Object, Function> || std::is_same_v<Object, Texture> ||
     std::is_same_v<Object, Surface>);

/// What null means as a stream.
Stream& default_stream(const std::shared_ptr<Context>& here);

/// While it lives, this thread runs a function of the program for a stream; such functions must not call
/// CUDA, since a call could wait for the stream that waits for them. It answers CUDA_ERROR_NOT_PERMITTED.
struct InCallback {
  InCallback();
  ~InCallback();
};

/// Whether nullptr means the calling thread's own default stream, as in the entries that end in _ptsz and
/// _ptds.
bool& null_is_per_thread();

}  // namespace raddle::driver
