// Streams and events as Python holds them.
#pragma once

#include <memory>

#include "python/device.h"

namespace raddle::python {

/// A stream with its device. What it was given goes on when it goes.
struct OpenStream {
  OpenStream(std::shared_ptr<OpenDevice> of, Stream opened)
      : device(std::move(of)), stream(std::move(opened)) {}
  std::shared_ptr<OpenDevice> device;
  Stream stream;
};

/// A point in a stream.
struct RecordedEvent {
  std::shared_ptr<OpenDevice> device;
  Event event;
};

void bind_stream(nb::module_& module);

}  // namespace raddle::python
