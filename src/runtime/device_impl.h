// The objects behind the handles of include/raddle. One Device::Impl owns an address space on a machine that
// it shares; everything else points to it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "base/spinning_mutex.h"
#include "exec/executable.h"
#include "linking/linking.h"
#include "machine/address_space.h"
#include "proxy/server.h"
#include "ptx/layout.h"
#include "ptx/module.h"
#include "raddle/raddle.h"
#include "runtime/device_runtime.h"

namespace raddle {

inline Dim3 extents(const std::uint32_t (&value)[3]) { return {value[0], value[1], value[2]}; }

namespace detail {
/// A kernel as one engine compiled it for one class of block shapes, alone or in clusters.
struct CompiledKernel {
  std::uint64_t shape_class = 0;
  std::uint32_t stack_bytes = 0;  ///< the limit it was compiled for
  bool clustered = false;         ///< for clusters of more than one block
  bool windowed = false;          ///< exec::CompileOptions::windowed
  std::unique_ptr<exec::Executable> code;
  std::uint64_t local_stride = 0;
  LaunchReport report;  ///< of the compilation
};
}  // namespace detail

struct Stream::Impl {
  Impl(Device::Impl& device, int priority);
  ~Impl();

  struct How {
    machine::Task* also = nullptr;     ///< another one that the task comes after
    std::optional<int> priority = {};  ///< instead of the stream's
    bool begins_early = false;         ///< before the end of the one before it, when that has triggered
    bool is_given = false;             ///< the caller has the task's only reference, which the stream takes
  };
  /// Appends a task: it runs after all earlier ones of this stream.
  void submit(machine::Task& task) { submit(task, {}); }
  void submit(machine::Task& task, const How& how);
  void submit(machine::Work work);
  /// @errors invalid: the memory is not there
  Result<void> copy(const machine::CopyWork& copy);
  bool done();                   ///< all that was submitted
  machine::Task* retain_last();  ///< null if the stream was never used; the caller releases it

  Device::Impl& device;
  std::atomic<int> priority;

 private:
  bool chain(machine::Task& task, const machine::Task* before, bool begins_early);

  base::SpinningMutex mutex_;
  machine::Task* last_ = nullptr;
  bool last_at_trigger_ = false;  ///< that is a marker of such a point: grids behind it begin early
};

struct Device::Impl {
  DeviceOptions options;
  std::atomic<std::uint32_t> stack_bytes{0};  ///< the limit now
  DeviceRuntime device_runtime{*this};
  proxy::Server* server = nullptr;  ///< whose machine runs the kernels; null: this process's
  std::uint64_t server_space = 0;   ///< its number there
  std::unique_ptr<machine::TextureTable> server_textures;
  std::shared_ptr<exec::Engine> engine;       ///< and the machine: shared with other devices (hardware.h)
  std::unique_ptr<exec::Engine> interpreter;  ///< for kernels beyond the engine; made for the first of them
  std::once_flag interpreter_made;
  std::mutex streams_mutex;
  std::vector<Stream::Impl*> streams;
  std::unique_ptr<machine::AddressSpace> space;
  /// Modules that task records may name, by Module::Impl::number_here.
  std::shared_mutex modules_mutex;
  std::map<std::uint64_t, Module::Impl*> modules;
  std::uint64_t last_module = 0;
  std::optional<Stream> default_stream;  // last: destroyed first

  ~Impl();
  /// What a server adds to the options of its clients' devices.
  struct Shared {
    std::shared_ptr<machine::DeviceSpace> window;  ///< of several devices
    std::uint64_t space_id = 0;                    ///< of all that have it
    std::function<void(machine::AddressSpace&, machine::Task&)> grid_ended;
  };
  static Result<Device> open(DeviceOptions options, const Shared& shared);
  static Result<Device> open_served(DeviceOptions options);
  Result<void> synchronize();
  /// A marker behind all work given so far; the caller releases it.
  machine::Task* point();
  void after_work(std::function<void()> function);
  void end_what_is_done();  ///< calls the functions whose work is done
  bool cancel(std::chrono::milliseconds patience);
  Result<void> status() const;
  struct Made {
    std::unique_ptr<exec::Executable> code;
    std::string_view by;  ///< name of the engine
  };
  /// By the device's engine, or by the interpreter if a kernel is beyond that; then stderr says so.
  bool has_late_copies() const { return options.asynchrony.mode != Asynchrony::Mode::eager; }
  Result<Made> compile(const Module::Impl& module, ptx::FunctionId kernel, const exec::CompileOptions& how);
  std::uint64_t shape_class(Dim3 block) const;
  machine::Machine& machine() { return space->machine(); }
  machine::TextureTable& textures() { return server != nullptr ? *server_textures : space->textures(); }
  machine::TaskScheduler& tasks() { return space->tasks(); }
  static Impl& of(Device& device) { return *device.impl_; }
  machine::MemoryRows at(DevicePtr address) const { return {space.get(), address.value}; }
  /// On the calling thread, after what is in the default stream. @errors invalid: the memory is not there;
  /// the device's
  Result<void> copy_now(const machine::CopyWork& copy);

 private:
  static Result<Device> finish_opening(std::unique_ptr<Impl> impl, DeviceOptions options);
  void let_finish(std::chrono::milliseconds patience);
  /// A function that waits for work to be done (after_work), and a marker behind that work.
  struct Ending {
    machine::Task* after;
    std::function<void()> function;
  };
  std::mutex endings_mutex_;
  std::vector<Ending> endings_;
  std::atomic<bool> has_endings_{false};  // changed under the lock
};

struct Event::Impl {
  Impl(Device::Impl& device, machine::Task& marker) : device(device), marker(marker) {}
  Impl(const Impl& other) : device(other.device), marker(other.marker) { device.tasks().retain(marker); }
  ~Impl() { device.tasks().release(&marker); }
  Device::Impl& device;
  machine::Task& marker;
};

struct Kernel::Impl {
  Module::Impl* module = nullptr;
  ptx::FunctionId id = 0;
  KernelInfo info;
  ptx::SharedLayout shared;
  Error unusable{ErrorCode::unsupported, ""};  ///< message empty: the kernel can run

  std::mutex mutex;
  std::vector<std::unique_ptr<detail::CompiledKernel>> compiled;
  std::atomic<const detail::CompiledKernel*> last_used{nullptr};

  const ptx::Function& function() const;
  Result<const detail::CompiledKernel*> compile(Dim3 block, bool clustered);
  /// The code for such a block if there is some and nobody is compiling just now.
  const detail::CompiledKernel* compiled_for(Dim3 block, bool clustered);
  Result<void> check(const LaunchConfig& config) const;
  Result<void> check_part(const LaunchConfig& config) const;
  Result<void> check_block(const LaunchConfig& config) const;
  // Clusters (clusters.cpp).
  /// Whether a launch has anything to do with clusters; most do not.
  bool has_clusters(const LaunchConfig& config) const;
  /// %is_explicit_cluster: the launch or the kernel says how large clusters are.
  bool asks_for_clusters(const LaunchConfig& config) const;
  /// The blocks that are one cluster to the kernel; one block without clusters.
  ClusterLevel seen_cluster(const LaunchConfig& config) const;
  /// Whether a kernel can be launched with such clusters, whatever the grid. @errors invalid_cluster
  Result<void> check_cluster(const LaunchConfig& config) const;
  /// Also whether they divide the grid. @errors invalid_cluster
  Result<void> check_clusters(const LaunchConfig& config) const;
  /// How the blocks of a launch form clusters.
  machine::GridKind kind_of(const LaunchConfig& config) const;
  /// Of a kernel whose launches count clusters (.blocksareclusters): the same launch, counted in blocks.
  LaunchConfig in_blocks(const LaunchConfig& config) const;
  Result<void> pack(std::span<const Argument> arguments, std::span<std::byte> block) const;
  std::uint32_t blocks_per_sm(std::uint32_t threads, std::uint64_t shared_bytes) const;
  machine::CtaNeeds needs_of(std::uint64_t threads, std::uint64_t shared_bytes) const;
  /// The resources of an SM that a block occupies.
  void fill_occupancy(machine::GridWork& grid, std::uint32_t threads, std::uint64_t dynamic_shared) const;
  /// All of a launch but its parameters and its number, which the grid's context has already.
  void fill(machine::GridWork& grid, const LaunchConfig& config, const detail::CompiledKernel& code) const;
  /// A checked launch as a task, not submitted yet. @param block  its parameters
  /// @errors out_of_memory, and what the address space refuses
  Result<machine::Task*> make_task(const LaunchConfig& config, std::span<const std::byte> block,
                                   const detail::CompiledKernel& code);
  /// The same of one that is not checked yet. @param code  receives what it runs. @errors as Kernel::launch
  Result<machine::Task*> make_task(const LaunchConfig& config, std::span<const Argument> arguments,
                                   const detail::CompiledKernel*& code);
};

struct Program::Impl : linking::Linked {
  static const std::shared_ptr<const Impl>& of(const Program& program) { return program.impl_; }
};

struct Module::Impl {
  Impl(Device::Impl& on, std::shared_ptr<const Program::Impl> loaded)
      : device(&on), code(std::move(loaded)), program(code->module) {}

  Device::Impl* const device;
  const std::shared_ptr<const Program::Impl> code;
  const ptx::Module& program;
  std::uint64_t number = 0;              ///< of the device's server; 0: it has not been told
  std::uint64_t number_here = 0;         ///< in Device::Impl::modules; 0: it is not there
  std::vector<std::uint64_t> addresses;  ///< by VariableId; LaunchContext::variables
  /// The same with what its .texref and .surfref variables stand for in launches from now on. A handle ends
  /// with the last launch that has it.
  struct Bindings {
    std::vector<std::uint64_t> addresses;
    std::map<std::size_t, std::shared_ptr<const void>> owners;  ///< of handles, by VariableId
  };
  bool has_references = false;
  mutable std::mutex bindings_mutex;
  std::shared_ptr<const Bindings> bindings;
  std::vector<DevicePtr> allocations;
  const Placed* placed = nullptr;      ///< while it is loaded: variables that lie somewhere already
  std::vector<std::uint64_t> handles;  ///< of its .samplerref variables, and of references without images
  std::vector<std::unique_ptr<Kernel::Impl>> kernels;  ///< entries, in the order of the text
  std::mutex mutex;

  /// For a launch; null: `addresses` are all there is.
  std::shared_ptr<const std::vector<std::uint64_t>> bound() const {
    if (!has_references) return nullptr;
    const std::lock_guard lock(bindings_mutex);
    return {bindings, &bindings->addresses};
  }
  /// What Module::bind says. @param handle  0: nothing is bound
  Result<void> bind(std::string_view reference, isa::Type type, std::uint64_t handle);

  /// @errors unsupported: names the parts that cannot run
  Result<Kernel::Impl*> kernel(ptx::FunctionId id);
  /// Loads it there, too. @errors server, and what that answers
  Result<void> tell_server();
  ~Impl();
};

/// Copies and fills as tasks have them (copy.cpp).
machine::CopyWork work_of(const BoxCopy& copy);
machine::FillWork work_of(const RowFill& fill, const Device::Impl& otherwise);

/// Allocates and initialises the module's variables (module.cpp).
Result<void> place_variables(Module::Impl& module);
/// Its kernels' names, in the order of the text; one of them by name (program.cpp). @errors not_found
std::vector<std::string> kernel_names(const ptx::Module& program);
Result<ptx::FunctionId> find_kernel(const ptx::Module& program, std::string_view name);
/// What a kernel needs, and what keeps it from running (kernel_info.cpp).
KernelInfo describe(const ptx::Module& program, ptx::FunctionId id);
/// What decides how many blocks of a kernel fit an SM.
void fill_occupancy(machine::GridWork& grid, const KernelInfo& info, std::uint32_t threads,
                    std::uint64_t dynamic_shared);
/// The same as a part of a module, with the shared memory's layout.
std::unique_ptr<Kernel::Impl> describe_kernel(Module::Impl& module, ptx::FunctionId id);
/// "file.cu:12 inlined at file.cu:40" of a PTX line, for faults.
std::string source_of_line(const void* module, std::uint32_t ptx_line);

Error fault_error(const exec::Fault& fault);

}  // namespace raddle
