// A kernel's arguments as Python gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "python/buffer_view.h"
#include "python/device.h"

namespace raddle::python {

/// Arguments turned into bytes. Arrays in host memory have copies in device memory, which go back to where
/// they came from when the kernel has ended; arrays in device memory are used where they lie.
class Arguments {
 public:
  /// Raises TypeError, OverflowError or an error of raddle.errors, with the argument's number and the
  /// parameter's name.
  Arguments(const std::shared_ptr<OpenDevice>& device, const KernelInfo& info, nb::args values);
  Arguments(Arguments&&) = default;

  std::vector<Argument> list() const;
  /// Copies back what the kernel may have written, after it has ended.
  void copy_back();

 private:
  /// An array of the host, for as long as the launch needs it.
  struct HostArray {
    std::unique_ptr<BufferView> view;  ///< of the buffer protocol, or
    nb::object owner;                  ///< of another that names its address
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool writable = false;
    std::unique_ptr<Memory> copy;  ///< none: an array of no elements
  };

  void add_named(const KernelInfo& info, std::size_t number, nb::handle value);
  void add(const KernelParameter& parameter, nb::handle value);
  void add_number(const KernelParameter& parameter, nb::handle value);
  bool add_device_array(nb::handle value);
  bool add_host_array(const KernelParameter& parameter, nb::handle value);
  bool add_dlpack(nb::handle value);
  void add_copy(HostArray array);
  void add_address(std::uint64_t address);
  void add_bytes(const void* data, std::size_t bytes);

  std::shared_ptr<OpenDevice> device_;
  std::vector<std::vector<std::byte>> values_;
  std::vector<HostArray> arrays_;
};

}  // namespace raddle::python
