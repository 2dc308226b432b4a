// What the handles of the driver API stand for. Everything a context made holds the context, whose device
// goes last.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/abi.h"
#include "driver/handles.h"
#include "driver/jit_log.h"
#include "driver/parameters.h"
#include "driver/status.h"
#include "raddle/raddle.h"

namespace raddle::driver {

class Gpu;
struct ManagedVariables;

/// What programs may set aside of an H200's second-level cache, in bytes: a hint, as there is no such cache.
inline constexpr std::size_t kPersistingL2 = 39'321'600;
inline constexpr std::size_t kLargestWindow = 128 << 20;  ///< bytes of an access policy window: likewise

/// An address space with its sticky error.
struct Context {
  Context(Gpu& of, raddle::Device&& opened, unsigned creation_flags)
      : gpu(of), device(std::move(opened)), flags(creation_flags) {}

  Gpu& gpu;
  raddle::Device device;
  std::atomic<unsigned> flags;
  std::atomic<int> cache_config{0}, shared_config{0};
  std::atomic<std::size_t> pending_launches{2048}, fetch_granularity{64},
      persisting_l2{kPersistingL2 / 10 * 3};  ///< limits that are only remembered
  CUcontext handle = nullptr;
  std::uint64_t id = 0;
  std::atomic<bool> destroyed{false}, reported{false};
  std::atomic<unsigned> users{1};  ///< that cuCtxAttach counts

  /// The stream that blocking streams wait for and that waits for them; made at its first use, as the others.
  Stream& legacy_stream();
  Stream& per_thread_stream();  ///< of the calling thread

  std::mutex mutex;
  std::vector<std::weak_ptr<Stream>> blocking;  ///< streams that are ordered with the legacy stream
  std::atomic<bool> has_blocking{false};        ///< whether there are any; changed under the lock
  /// Texture and surface objects by handle (texture.h).
  std::map<std::uint64_t, std::shared_ptr<Texture>> textures;
  std::map<std::uint64_t, std::shared_ptr<Surface>> surfaces;
  std::set<std::uint64_t> peers;  ///< ids of contexts whose memory its kernels may access

 private:
  std::unique_ptr<Stream> legacy_;
  std::atomic<Stream*> known_legacy_{nullptr};  // once it is made, for who does not have the lock
  std::map<std::uint64_t, std::shared_ptr<Stream>> per_thread_;
};

std::uint64_t next_stream_id();

struct Capture;
/// A node of a capture's graph that something comes after, and how.
struct CaptureEdge {
  CUgraphNode node;
  CUgraphEdgeData data;
};

struct Stream {
  Stream(Context* of, raddle::Stream&& opened, unsigned given = 0, int level = 0, bool legacy = false,
         std::shared_ptr<Context> kept = nullptr)
      : context(of),
        stream(std::move(opened)),
        flags(given),
        priority(level),
        is_legacy(legacy),
        keeps(std::move(kept)) {}
  ~Stream();

  Context* context;
  CUstream handle = nullptr;  ///< none of default streams
  raddle::Stream stream;
  const unsigned flags;
  std::atomic<int> priority;
  const bool is_legacy;
  const std::shared_ptr<Context> keeps;  ///< of streams that programs made

  bool is_blocking() const { return !is_legacy && (flags & STREAM_NON_BLOCKING) == 0; }
  /// To be called before work is appended: waits for the work that must come first by CUDA's rules of the
  /// legacy stream. CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, _IMPLICIT: the stream is being captured, or one
  /// that the legacy stream would wait for; that capture is of no use any more
  Status order();
  void set_priority(int wanted);  ///< clamped; of work that follows
  /// Later work waits for a point of a stream of this context, or of another.
  void wait(const raddle::Event& point, const std::shared_ptr<Context>& of);

  /// The frees of other streams that come before this stream's work (pools): by stream, the number of the
  /// last.
  using History = std::map<std::uint64_t, std::uint64_t>;
  History history();
  void learn(const History& earlier);  ///< it waits for a point with this history
  bool comes_after(std::uint64_t stream, std::uint64_t free);
  std::uint64_t next_free();

  const std::uint64_t id = next_stream_id();
  std::mutex mutex;
  std::map<int, CUstreamAttrValue> attributes;  ///< that were set

  /// The capture that it is part of, and behind which nodes its next one comes (graph/capture.h); null: none.
  /// Under the lock of graphs, but for the question whether there is one.
  std::shared_ptr<Capture> capture;
  std::vector<CaptureEdge> frontier;
  std::atomic<bool> has_capture{false};
  bool is_capturing() const { return has_capture.load(std::memory_order_relaxed); }

 private:
  std::mutex history_mutex_;
  History history_;
};

class SharedEvent;

struct Event {
  std::shared_ptr<Context> context;
  CUevent handle = nullptr;
  unsigned flags = 0;
  std::mutex mutex;
  std::optional<raddle::Event> recorded;
  Stream::History history;  ///< of the recorded point
  /// If it was recorded in a capture: that, and what it stands for there. Under the lock of graphs.
  std::shared_ptr<Capture> capture;
  std::vector<CaptureEdge> captured;
  std::atomic<bool> is_captured{false};
  void record(const raddle::Event& point, const Stream::History& earlier);
  std::shared_ptr<SharedEvent> shared;  ///< of events between processes, which it stands for
};

/// A function of the program that a stream or a graph calls (cuLaunchHostFunc).
std::function<void()> host_function(Context* context, CUhostFn function, void* data);

struct Module {
  std::shared_ptr<Context> context;
  raddle::Program program;
  raddle::Module module;
  bool is_of_library = false;                 ///< such modules end only with their library
  std::shared_ptr<ManagedVariables> managed;  ///< of its library; null: it has none
  CUmodule handle = nullptr;
  std::mutex mutex;
  std::map<std::string, CUfunction, std::less<>> functions;
  std::map<std::string, CUtexref, std::less<>> texture_references;
  std::map<std::string, CUsurfref, std::less<>> surface_references;
};

/// Code without a context, read for each compute capability that a device of the process has: devices may
/// take different code of it.
using Programs = std::map<std::uint32_t, raddle::Program>;

/// Each context that uses it gets a module of its own.
struct Library {
  std::shared_ptr<const Programs> programs;  ///< of the capabilities that it has code for
  CUlibrary handle = nullptr;
  std::vector<CUkernel> kernels;  ///< in the order of the text
  std::map<std::string, CUkernel, std::less<>> by_name;
  std::mutex mutex;
  std::map<const Context*, std::shared_ptr<Module>> modules;
  std::weak_ptr<ManagedVariables> managed;  ///< of those that are loaded
};

/// Attributes of code that programs set with cuFuncSetAttribute and cuKernelSetAttribute.
class FunctionSettings {
 public:
  FunctionSettings() {
    for (std::atomic<int>& value : values_) value = kNotSet;
  }
  static constexpr int kNotSet = -1;
  int get(CUfunction_attribute attribute) const {
    const bool known = attribute >= 0 && attribute < FUNC_ATTRIBUTE_COUNT;
    return known ? values_[attribute].load(std::memory_order_relaxed) : kNotSet;
  }
  void set(CUfunction_attribute attribute, int value) { values_[attribute] = value; }

 private:
  std::array<std::atomic<int>, FUNC_ATTRIBUTE_COUNT> values_;
};

/// A kernel of a library; in a context it is a function.
struct Kernel {
  Kernel(const std::shared_ptr<Library>& of, std::string called, std::size_t devices)
      : library(of), name(std::move(called)), programs_(of->programs) {
    for (std::size_t i = 0; i < devices; ++i) settings_.push_back(std::make_shared<FunctionSettings>());
  }

  const std::weak_ptr<Library> library;
  CUkernel handle = nullptr;
  const std::string name;
  /// On a device, for functions that have none of their own.
  const std::shared_ptr<FunctionSettings>& settings(const Gpu& gpu) const;
  std::mutex mutex;
  std::map<const Context*, std::shared_ptr<Function>> functions;

  /// On a device; if there is no code for it, on one for which there is. Found out at the first call.
  const KernelInfo& info(const Gpu& gpu);

 private:
  const std::shared_ptr<const Programs> programs_;
  std::vector<std::shared_ptr<FunctionSettings>> settings_;  // by device
  std::map<std::uint32_t, KernelInfo> info_;                 // by compute capability
};

/// What a function keeps from call to call for launches as they were before CUDA 4.
struct LegacyLaunch {
  std::mutex mutex;
  std::array<unsigned, 3> block{1, 1, 1};
  unsigned shared_bytes = 0;
  std::size_t parameter_bytes = 0;
  std::vector<std::byte> arguments;
};

/// A kernel in a context.
struct Function {
  std::shared_ptr<Module> module;
  std::string name;
  FunctionSettings settings;
  std::shared_ptr<const FunctionSettings>
      kernel_settings;  ///< of the kernel that it stands for; null: of none
  CUfunction handle = nullptr;
  LegacyLaunch legacy;

  /// Finds out whether it can run; once. @errors unsupported: names every instruction that is not there
  Result<void> load();
  /// Whether the user must be told now why it cannot run: once, and not if the reading of the program told
  /// it.
  bool must_tell();
  bool is_loaded() const { return loaded_.load(std::memory_order_acquire); }
  raddle::Kernel& kernel() { return *kernel_; }  ///< once it is loaded
  const raddle::Kernel& kernel() const { return *kernel_; }

 private:
  std::mutex mutex_;
  std::atomic<bool> loaded_{false}, told_{false};
  std::optional<raddle::Kernel> kernel_;
};

/// Code that is being linked (CUlinkState).
struct Link {
  struct Input {
    std::string bytes, name;
    bool is_library = false;
    std::uint32_t max_registers = 0;  ///< Program::Image::max_registers
  };
  CUlinkState handle = nullptr;
  std::uint32_t capability = 0;  ///< of the devices that it is for
  std::mutex mutex;
  JitLog log;
  std::vector<Input> inputs;
  std::string cubin;  ///< once it is complete
};

}  // namespace raddle::driver
