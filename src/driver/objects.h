// What the handles of the driver API stand for. Everything a context made holds the context, whose device
// goes last.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "driver/abi.h"
#include "driver/handles.h"
#include "raddle/raddle.h"

namespace raddle::driver {

struct Stream;

/// An address space with its sticky error. Each has a device of its own until one device holds several (A).
struct Context {
  Context(raddle::Device&& opened, unsigned creation_flags)
      : device(std::move(opened)), flags(creation_flags) {}

  raddle::Device device;
  const unsigned flags;
  CUcontext handle = nullptr;
  std::atomic<bool> destroyed{false}, reported{false};

  /// The stream that blocking streams wait for and that waits for them; made at its first use, as the others.
  Stream& legacy_stream();
  Stream& per_thread_stream();  ///< of the calling thread

  std::mutex mutex;
  std::vector<std::weak_ptr<Stream>> blocking;  ///< streams that are ordered with the legacy stream
  std::map<void*, std::uint64_t> pinned;        ///< memory from cuMemAllocHost: bytes

 private:
  std::unique_ptr<Stream> legacy_;
  std::map<std::uint64_t, std::shared_ptr<Stream>> per_thread_;
};

struct Stream {
  Context* context;
  raddle::Stream stream;
  unsigned flags = 0;
  int priority = 0;
  bool is_legacy = false;
  std::shared_ptr<Context> keeps = nullptr;  ///< of streams that programs made

  bool is_blocking() const { return !is_legacy && (flags & STREAM_NON_BLOCKING) == 0; }
  /// To be called before work is appended: what CUDA's rules of the legacy stream want done first is waited
  /// for.
  void order();
};

struct Event {
  std::shared_ptr<Context> context;
  unsigned flags = 0;
  std::mutex mutex;
  std::optional<raddle::Event> recorded;
};

struct Module {
  std::shared_ptr<Context> context;
  raddle::Module module;
  CUmodule handle = nullptr;
  std::mutex mutex;
  std::map<std::string, CUfunction> functions;
};

struct Function {
  std::shared_ptr<Module> module;
  raddle::Kernel kernel;
  std::atomic<int> dynamic_shared_limit;  ///< bytes of a block
};

}  // namespace raddle::driver
