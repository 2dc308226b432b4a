// What Python's objects hold. A device lives as long as any object that came from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "python/nanobind.h"
#include "raddle/raddle.h"

namespace raddle::python {

/// Closed without Python's lock: what its kernels printed goes to sys.stdout, also from other threads.
struct OpenDevice {
  explicit OpenDevice(Device opened) : device(std::move(opened)) {}
  ~OpenDevice();
  /// Before a copy, which waits for the default stream only. Called without Python's lock.
  Result<void> wait_for_streams() { return has_streams ? device->synchronize() : Result<void>(); }
  std::optional<Device> device;
  bool has_streams = false;  ///< others than the default one; changed under Python's lock
};

/// A piece of device memory, freed with this object.
class Memory {
 public:
  Memory(std::shared_ptr<OpenDevice> device, std::uint64_t bytes);
  Memory(Memory&&) noexcept = default;
  ~Memory();

  std::uint64_t address() const { return address_.value; }
  std::uint64_t bytes() const { return bytes_; }
  /// From and to an object of the buffer protocol, of not more bytes. They wait for the default stream.
  void write(nb::handle from);
  void read(nb::handle to) const;
  void fill(std::uint8_t value);

 private:
  std::shared_ptr<OpenDevice> device_;
  DevicePtr address_;
  std::uint64_t bytes_;
};

/// A loaded module with the text that its faults' lines count in.
struct LoadedModule {
  LoadedModule(std::shared_ptr<OpenDevice> from, Module loaded, std::string text)
      : device(std::move(from)), module(std::move(loaded)), source(std::move(text)) {}
  ~LoadedModule();
  std::shared_ptr<OpenDevice> device;
  std::optional<Module> module;
  std::string source;  ///< PTX; empty if the module was linked from several texts
};

void bind_device(nb::module_& module);
void bind_kernel(nb::module_& module);
void bind_launch(nb::module_& module);

}  // namespace raddle::python
