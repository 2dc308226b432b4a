// Raddle's C++ API: open a device, load PTX, launch kernels.
//
//   auto device = raddle::Device::open().value();
//   auto module = device.load_file("vector_add.ptx").value();
//   auto kernel = module.kernel("vector_add").value();
//   std::vector<float> a(1000, 1), b(1000, 2), c(1000);
//   auto da = device.buffer(a).value(), db = device.buffer(b).value();
//   auto dc = device.buffer<float>(1000).value();
//   auto launch = kernel.launch({.grid = {4}, .block = {256}}, da, db, dc, 1000).value();
//   auto report = launch.wait();  // or a fault, as an error
//   dc.read(c);
//
// Calls return Result: bad input and kernel faults are values, nothing throws. All calls are thread-safe.
// Objects must not outlive the Device that they came from.
#pragma once

#include <array>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "base/result.h"
#include "raddle/task_record.h"
#include "raddle/texture.h"
#include "raddle/types.h"

namespace raddle {

namespace machine {
class Task;
}
namespace detail {
struct CompiledKernel;
}

template <class T>
class Buffer;
class Event;
class ExecutableGraph;
class Kernel;
class Launch;
class Module;
class Stream;

/// Code that was read, checked and, if it came in several texts, linked. A light handle of constant data: any
/// number of devices of its compute capability can load it as modules.
class Program {
 public:
  /// PTX text, a fat binary, a cubin of Raddle's ptxas, or a program, object file or archive that nvcc made.
  struct Image {
    std::string_view bytes;
    std::string_view name = "<memory>";
    bool is_library = false;  ///< only modules that define a missing name are taken from it
    std::uint32_t max_registers =
        0;  ///< that its threads may take, as an assembler's limit: where the image has none; 0: no limit
  };

  /// @param capability  of the devices: 90 for 9.0. It chooses among several architectures in one file.
  /// @errors invalid, with file, line and column, or with the names that cannot be linked;
  ///         unsupported: device code, but no PTX
  static Result<Program> read(std::span<const Image> images, std::uint32_t capability);

  std::vector<std::string> kernels() const;  ///< in the order of the text
  bool has_kernel(std::string_view name) const;
  /// The PTX that it was read from.
  std::vector<std::string> texts() const;
  /// The names of its texts, without those of libraries that were not needed.
  std::vector<std::string> parts() const;
  /// A cubin that carries the PTX of these, to be loaded in their place on a device of that capability.
  std::string cubin(std::uint32_t capability) const;
  /// External variables that no module defines; with any of these the program cannot be loaded.
  std::vector<std::string> undefined_variables() const;
  std::uint64_t global_bytes() const;  ///< device memory that its global variables take
  /// Global variables that are marked .managed: names and bytes.
  std::vector<std::pair<std::string, std::uint64_t>> managed_variables() const;
  /// Kernels with instructions that Raddle cannot execute, in themselves or in functions that they call;
  /// KernelInfo::unsupported says which. The others run.
  std::vector<std::string> unusable_kernels() const;
  /// @errors not_found
  Result<KernelInfo> kernel(std::string_view name) const;

  struct Impl;

 private:
  friend class Device;
  explicit Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// Variables that lie in memory which is not the module's.
struct Placed {
  std::map<std::string, DevicePtr, std::less<>> addresses;
  bool has_values = false;  ///< not to be initialised again
};

class Device {
 public:
  /// @errors not_found: no such shape or engine; invalid: more workers than cores
  static Result<Device> open(DeviceOptions options = {});
  ~Device();  ///< waits for everything that was submitted
  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;

  DeviceProperties properties() const;

  /// Kernels that start from now on may access another device's memory, where devices are isolated from each
  /// other, or no more.
  void admit_peer(const Device& peer);
  void dismiss_peer(const Device& peer);

  /// Parses PTX, allocates and initialises its variables. Kernels with instructions that are not supported
  /// fail at kernel(). `image` is as for Program; several modules in it are linked.
  /// @errors invalid, with file, line and column; not_found: an external variable without a definition;
  ///         unsupported: device code, but no PTX
  Result<Module> load(std::string_view image, std::string_view name = "<memory>");
  Result<Module> load_file(const std::string& path);  ///< also io
  /// Allocates and initialises a program's variables.
  /// @param placed  managed ones that have their memory
  /// @errors not_found, as above; out_of_memory
  Result<Module> load(const Program& program, const Placed& placed = {});

  /// @errors out_of_memory; invalid for 0 bytes
  Result<DevicePtr> allocate(std::uint64_t bytes);
  Result<void> free(DevicePtr address);        ///< waits for all work, as cudaFree does
  Result<void> free_later(DevicePtr address);  ///< once all work given so far is done; returns at once
  /// Synchronous copies, after all work in the default stream. @errors invalid: not inside an allocation;
  /// kernel_fault: sticky
  Result<void> write(DevicePtr to, const void* from, std::uint64_t bytes);
  Result<void> read(void* to, DevicePtr from, std::uint64_t bytes);
  Result<void> copy(DevicePtr to, DevicePtr from, std::uint64_t bytes);
  Result<void> copy(const BoxCopy& copy);  ///< of any two sides, also of several devices
  Result<void> fill(DevicePtr to, std::uint8_t value, std::uint64_t bytes);
  /// Makes the pages of an allocation a file in memory, which other processes can map; the contents and the
  /// address stay. Waits for all work; nothing may write to the memory meanwhile. Small allocations share
  /// pages with others.
  /// @errors invalid: not the start of an allocation, or constants or shared memory; out_of_memory
  Result<SharedPages> share(DevicePtr address);
  template <class T>
  Result<Buffer<T>> buffer(std::size_t count);
  template <class T>
  Result<Buffer<T>> buffer(const std::vector<T>& contents);  ///< allocates and writes

  /// A texture or surface of an image in device memory; pass the handle to kernels as a 64-bit parameter. The
  /// image's memory must outlive it. @errors invalid: an image that cannot be, linear filtering of integers
  Result<TextureHandle> create_texture(const Image& image, const Sampler& sampler = {});
  Result<SurfaceHandle> create_surface(const Image& image);
  /// Kernels that still use the handle fault. @errors invalid: no live handle
  Result<void> destroy(TextureHandle texture);
  Result<void> destroy(SurfaceHandle surface);

  Result<Stream> stream(int priority = 0);  ///< lower numbers run first
  Stream& default_stream();

  /// Waits for all work of all streams; writes what kernels printed.
  /// @errors kernel_fault, timeout: what went wrong first; sticky
  Result<void> synchronize();
  /// A point that is reached when all work given so far, of all streams, is done.
  Event record();
  /// Calls a function when all work given so far is done: at once if there is none, else from a later call
  /// that waits or frees something, or from the destructor. The function must not wait for the device.
  void after_work(std::function<void()> function);
  /// Ends all work for good. Work may first go on as long as a block or another piece of work ends within
  /// `patience`. After that nothing starts, kernels stop at their next poll, and waits for conditions end. A
  /// function of the program that a stream has called is not stopped.
  /// @returns whether everything has ended; only such a function can prevent it
  bool cancel(std::chrono::milliseconds patience);
  bool cancelled() const;
  bool idle() const;  ///< nothing left in any stream
  /// The sticky error, or ok. Does not wait.
  Result<void> status() const;
  std::optional<Failure> failure() const;
  /// The allocation that an address lies in; none for addresses of other memory.
  std::optional<Region> region(DevicePtr address) const;
  std::uint64_t memory_used() const;  ///< bytes
  std::uint64_t limit(Limit limit) const;
  /// The stack's limit applies to kernels that are compiled, or compiled again, from now on; the others can
  /// be changed until the first kernel uses them. @errors invalid: too late, or more than the shape has;
  /// out_of_memory
  Result<void> set_limit(Limit limit, std::uint64_t value);
  std::uint64_t blocks_completed() const;  ///< since open(), all launches: for progress displays
  /// The number of its address space, for task records.
  std::uint64_t space() const;
  /// Of a modelled device, all zero otherwise. Exact when nothing runs.
  TranslationCounts translation_counts() const;

  struct Impl;

 private:
  explicit Device(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A loaded PTX module. Destroying it returns at once; it goes when the work given so far is done.
class Module {
 public:
  ~Module();
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;

  std::vector<std::string> kernels() const;
  /// @errors not_found: lists the kernels there are; unsupported: names every instruction and unresolved
  /// function
  Result<Kernel> kernel(std::string_view name);
  /// A module-scope .global or .const variable. @errors not_found
  struct Variable {
    DevicePtr address;
    std::uint64_t bytes = 0;
    bool managed = false;  ///< declared `__managed__`: the host's pointers name it, too
  };
  Result<Variable> variable(std::string_view name) const;

  bool has_texture_reference(std::string_view name) const;  ///< a .texref of that name
  bool has_surface_reference(std::string_view name) const;  ///< a .surfref
  /// What a .texref or .surfref of the module stands for in launches from now on; those that were given have
  /// what was bound then. The handle is the module's from here on, and ends when it is bound no more and the
  /// last launch that has it is over.
  /// @errors not_found; unsupported: the device is a server's
  Result<void> bind(std::string_view reference, TextureHandle texture);
  Result<void> bind(std::string_view reference, SurfaceHandle surface);
  /// Nothing, as at first: kernels that use it fault, and the fault names it and says why. @errors not_found
  Result<void> unbind(std::string_view reference, const std::string& why = {});

  struct Impl;

 private:
  friend class Device;
  explicit Module(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A kernel of a module; a light handle, to be copied freely while the module lives.
class Kernel {
 public:
  const KernelInfo& info() const;
  /// A block size for this kernel on this host (K-8): what it was compiled for, else as many whole warps as
  /// keep the block's shared and local memory in a core's first cache, 256 threads at most.
  Dim3 suggested_block() const;
  /// How many blocks of this many threads one SM holds at once, by threads, block slots, shared memory and
  /// registers; 0 if none fits. A cooperative grid may have this times DeviceProperties::sm_count.
  std::uint32_t blocks_per_sm(std::uint32_t threads, std::uint64_t shared_bytes = 0) const;
  /// Clusters of such a launch that an empty device runs at once, by the rule that places them (W-13); 0: not
  /// one fits. Without clusters: blocks. The grid is ignored. @errors invalid; invalid_cluster: the kernel
  /// cannot have such clusters
  Result<std::uint64_t> active_clusters(const LaunchConfig& config) const;
  /// The largest cluster, in blocks, with which such a launch runs: what the kernel was compiled for, else
  /// the most of 8, or of 16 where they are allowed, that fit; 0: not even a block. @errors invalid
  Result<std::uint32_t> largest_cluster(const LaunchConfig& config) const;
  /// Compiles for a block shape now instead of at the first launch. @errors unsupported, invalid
  Result<LaunchReport> compile(Dim3 block);

  /// Checks the configuration and the arguments, then starts the kernel and returns at once.
  /// @errors invalid: limits, number or size of arguments; out_of_memory: before any block starts (K-10);
  ///         too_large: a cooperative grid of more blocks than can be resident;
  ///         invalid_cluster: clusters that the kernel, the grid or the machine cannot have;
  ///         unsupported: the engine; kernel_fault: an earlier launch failed (sticky)
  Result<Launch> launch(const LaunchConfig& config, std::span<const Argument> arguments);
  template <class... Arguments>
  Result<Launch> launch(const LaunchConfig& config, const Arguments&... arguments);
  /// The same for who waits for the stream alone: a little cheaper.
  Result<void> start(const LaunchConfig& config, std::span<const Argument> arguments);

  /// The kernel's number, for task records; never another one's of its device.
  std::uint64_t program() const;
  /// A record of a grid task that does what such a launch would do, with its parameters inside; for grid,
  /// block, shared memory and priority. @errors invalid, as launch(); more parameters than a record has room
  /// for
  Result<TaskRecord> record(const LaunchConfig& config, std::span<const Argument> arguments) const;
  template <class... Arguments>
  Result<TaskRecord> record(const LaunchConfig& config, const Arguments&... arguments) const;

  struct Impl;

 private:
  friend class ExecutableGraph;
  friend class Module;
  explicit Kernel(Impl* impl) : impl_(impl) {}
  Impl* impl_;
};

/// A started launch. Dropping it does not stop the kernel.
class Launch {
 public:
  ~Launch();
  Launch(Launch&&) noexcept;
  Launch& operator=(Launch&&) noexcept;

  /// Waits for the end. @errors kernel_fault, timeout
  Result<LaunchReport> wait();
  bool done() const;
  /// Stops the kernel at its next loop poll; wait() then returns an error. Not sticky.
  void cancel();
  /// Calls back from the device's callback thread once the launch has ended, with wait()'s result (K-16).
  void then(std::function<void(Result<LaunchReport>)> callback);
  std::future<Result<LaunchReport>> future();

  /// Of a queue task, also before it has started: appends an entry, for which a block starts when its turn
  /// comes.
  /// @errors invalid: no queue task, an entry of another size
  Result<Append> append(const void* entry, std::uint64_t bytes);
  template <class Entry>
    requires std::is_trivially_copyable_v<Entry>
  Result<Append> append(const Entry& entry) {
    return append(&entry, sizeof entry);
  }
  /// An entry that is a child: the task of that record is launched when its turn comes. A record that cannot
  /// be launched fails the queue task. @errors invalid: no queue task
  Result<Append> append_task(DevicePtr record);
  /// No more entries are taken; the task ends with those that it has. @errors invalid: no queue task
  Result<void> close();

 private:
  friend class Kernel;
  friend class Stream;
  // No allocation of its own: launches are a hot path.
  Launch(Device::Impl* device, machine::Task* task, const detail::CompiledKernel* code)
      : device_(device), task_(task), code_(code) {}

  Device::Impl* device_;
  machine::Task* task_;
  const detail::CompiledKernel* code_;
};

/// Work that runs in order. Streams run beside one another; the default stream is one like the others.
class Stream {
 public:
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  /// Asynchronous copies and fills; host memory must stay valid until they are done. @errors invalid: as
  /// Device::write
  Result<void> write(DevicePtr to, const void* from, std::uint64_t bytes);
  Result<void> read(void* to, DevicePtr from, std::uint64_t bytes);
  Result<void> copy(DevicePtr to, DevicePtr from, std::uint64_t bytes);
  Result<void> copy(const BoxCopy& copy);
  Result<void> fill(DevicePtr to, std::uint8_t value, std::uint64_t bytes);
  Result<void> fill(const RowFill& fill);
  /// Calls a function from the callback thread, in order.
  void call(std::function<void()> function);
  /// Later work waits until a word has a value, which a thread of the device polls. If the device has failed,
  /// the wait ends without it.
  void wait(const WordCondition& condition);
  /// Launches the task of a record in memory that the device's kernels may access (docs/tasks.md). It is read
  /// and checked now, and what is written there later changes nothing. A queue task's slots, and its record,
  /// stay where they are until it has ended; its queue is closed at the latest when the device goes or has
  /// failed.
  /// @errors invalid: names the record and the member that is wrong; unsupported: a device that a server
  /// runs; else as Kernel::launch
  Result<Launch> launch(DevicePtr record);
  void set_priority(int priority);  ///< of work that follows
  Event record();                   ///< an event of this point
  /// The point at which the launch given last lets dependent ones begin (LaunchConfig::begins_early):
  /// launches into streams that have just waited for it may begin then. It is done when that launch is.
  Event record_trigger();
  /// The point at which all blocks of the launch given last have begun, if it tells that
  /// (LaunchConfig::tells_begin); else its end. It may happen while the launch runs.
  Event record_begin();
  void wait(const Event& event);  ///< later work of this stream waits for the event, of the same device
  bool done() const;              ///< nothing left
  Result<void> synchronize();     ///< waits; the sticky error, if any

  struct Impl;

 private:
  friend class Device;
  friend class ExecutableGraph;
  friend class Kernel;
  explicit Stream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A point in a stream; copies name the same point.
class Event {
 public:
  Event(const Event&);
  Event& operator=(const Event&);
  ~Event();

  void wait() const;
  bool done() const;
  /// The condition that it is done, for streams of other devices; its own device must outlive the wait.
  WordCondition condition() const;
  /// Milliseconds from `start` to this event; negative if it came before; 0 while one is not done.
  double elapsed_ms(const Event& start) const;

  struct Impl;

 private:
  friend class Device;
  friend class ExecutableGraph;
  friend class Stream;
  explicit Event(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

namespace detail {
Result<void> buffers_write(Device::Impl* device, DevicePtr to, const void* from, std::uint64_t bytes);
Result<void> buffers_read(Device::Impl* device, void* to, DevicePtr from, std::uint64_t bytes);
void buffers_free(Device::Impl* device, DevicePtr address);
}  // namespace detail

/// `count` elements of device memory, freed with this object. As an argument it stands for its address.
template <class T>
class Buffer {
 public:
  static_assert(std::is_trivially_copyable_v<T>);
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        address_(std::exchange(other.address_, {})),
        count_(std::exchange(other.count_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      reset();
      device_ = std::exchange(other.device_, nullptr);
      address_ = std::exchange(other.address_, {});
      count_ = std::exchange(other.count_, 0);
    }
    return *this;
  }

  const DevicePtr& address() const { return address_; }
  std::size_t size() const { return count_; }
  operator Argument() const { return Argument(address_); }

  /// Synchronous, after the default stream. @errors invalid: more elements than the buffer has; kernel_fault
  Result<void> write(std::span<const T> from) {
    if (from.size() > count_)
      return Error::invalid("{} elements do not fit a buffer of {}", from.size(), count_);
    return detail::buffers_write(device_, address_, from.data(), from.size_bytes());
  }
  Result<void> read(std::span<T> to) const {
    if (to.size() > count_)
      return Error::invalid("{} elements wanted from a buffer of {}", to.size(), count_);
    return detail::buffers_read(device_, to.data(), address_, to.size_bytes());
  }

 private:
  friend class Device;
  Buffer(Device::Impl* device, DevicePtr address, std::size_t count)
      : device_(device), address_(address), count_(count) {}
  void reset() {
    if (device_ != nullptr) detail::buffers_free(device_, address_);
    device_ = nullptr;
  }

  Device::Impl* device_;
  DevicePtr address_;
  std::size_t count_;
};

template <class T>
Result<Buffer<T>> Device::buffer(std::size_t count) {
  TRY_ASSIGN(const DevicePtr address, allocate(count * sizeof(T)));
  return Buffer<T>(impl_.get(), address, count);
}

template <class T>
Result<Buffer<T>> Device::buffer(const std::vector<T>& contents) {
  TRY_ASSIGN(Buffer<T> result, buffer<T>(contents.size()));
  TRY(result.write(contents));
  return result;
}

template <class... Arguments>
Result<Launch> Kernel::launch(const LaunchConfig& config, const Arguments&... arguments) {
  const std::array<Argument, sizeof...(Arguments)> list{Argument(arguments)...};
  return launch(config, std::span<const Argument>(list));
}

template <class... Arguments>
Result<TaskRecord> Kernel::record(const LaunchConfig& config, const Arguments&... arguments) const {
  const std::array<Argument, sizeof...(Arguments)> list{Argument(arguments)...};
  return record(config, std::span<const Argument>(list));
}

}  // namespace raddle
