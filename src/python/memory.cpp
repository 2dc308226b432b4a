// Device memory, from and to objects of the buffer protocol.
#include "python/buffer_view.h"
#include "python/device.h"
#include "python/errors.h"

namespace raddle::python {

OpenDevice::~OpenDevice() {
  nb::gil_scoped_release unlocked;
  device.reset();
}

LoadedModule::~LoadedModule() {
  nb::gil_scoped_release unlocked;
  module.reset();
}

Memory::Memory(std::shared_ptr<OpenDevice> device, std::uint64_t bytes)
    : device_(std::move(device)), bytes_(bytes) {
  address_ = take(device_->device->allocate(bytes));
}

Memory::~Memory() {
  if (device_ == nullptr) return;
  nb::gil_scoped_release unlocked;
  // A device that has failed frees what is left when it is closed.
  (void)device_->device->free_later(address_);
}

void Memory::write(nb::handle from) {
  const BufferView view(from, PyBUF_SIMPLE);
  if (view.bytes() > bytes_)
    raise(Error::invalid("{} bytes do not fit {} bytes of device memory", view.bytes(), bytes_));
  take([&]() -> Result<void> {
    nb::gil_scoped_release unlocked;
    TRY(device_->wait_for_streams());
    return device_->device->write(address_, view.data(), view.bytes());
  }());
}

void Memory::read(nb::handle to) const {
  const BufferView view(to, PyBUF_WRITABLE);
  if (view.bytes() > bytes_)
    raise(Error::invalid("{} bytes wanted from {} bytes of device memory", view.bytes(), bytes_));
  take([&]() -> Result<void> {
    nb::gil_scoped_release unlocked;
    TRY(device_->wait_for_streams());
    return device_->device->read(view.data(), address_, view.bytes());
  }());
}

void Memory::fill(std::uint8_t value) {
  take([&]() -> Result<void> {
    nb::gil_scoped_release unlocked;
    TRY(device_->wait_for_streams());
    return device_->device->fill(address_, value, bytes_);
  }());
}

}  // namespace raddle::python
