// raddle._raddle.Stream and Event.
#include "python/stream.h"

#include "python/errors.h"

namespace raddle::python {
namespace {

using nb::literals::operator""_a;

std::shared_ptr<OpenStream> open_stream(const std::shared_ptr<OpenDevice>& device, int priority) {
  auto opened = std::make_shared<OpenStream>(device, take(device->device->stream(priority)));
  device->has_streams = true;
  return opened;
}

void wait_for(OpenStream& self, const RecordedEvent& event) {
  if (event.device != self.device) raise(Error::invalid("the event is of another device than the stream"));
  self.stream.wait(event.event);
}

void synchronize_stream(OpenStream& self) {
  take([&] {
    nb::gil_scoped_release unlocked;
    return self.stream.synchronize();
  }());
}

void wait_for_event(const RecordedEvent& self) {
  take([&] {
    nb::gil_scoped_release unlocked;
    self.event.wait();
    return self.device->device->status();
  }());
}

/// Milliseconds, of which only done events know.
double elapsed_ms(const RecordedEvent& self, const RecordedEvent& start) {
  if (start.device != self.device) raise(Error::invalid("the events are of two devices"));
  if (!self.event.done() || !start.event.done())
    raise(Error::invalid("an event is not done yet: wait for it"));
  return self.event.elapsed_ms(start.event);
}

}  // namespace

void bind_stream(nb::module_& module) {
  nb::class_<RecordedEvent>(module, "Event", "A point in a stream. Stream.record() makes it.")
      .def("wait", &wait_for_event,
           "Waits until the work before it is done.\n\nRaises KernelFault or LaunchTimeout if the device has "
           "failed.")
      .def_prop_ro(
          "done", [](const RecordedEvent& self) { return self.event.done(); },
          "Whether the work before it is done; does not wait.")
      .def("elapsed_ms", &elapsed_ms, "start"_a, nb::sig("def elapsed_ms(self, start: Event) -> float"),
           "Milliseconds from another event to this one; negative if this one came before.\n\n"
           "Raises InvalidError while one of them is not done, and for events of two devices.");
  nb::class_<OpenStream>(module, "Stream",
                         "Work that runs in order; streams run beside one another. Device.stream() makes it.")
      .def("synchronize", &synchronize_stream,
           "Waits for all its work.\n\nRaises KernelFault or LaunchTimeout for what went wrong on the device "
           "first.")
      .def_prop_ro(
          "done", [](const OpenStream& self) { return self.stream.done(); },
          "Whether nothing is left of its work; does not wait.")
      .def(
          "record", [](OpenStream& self) { return RecordedEvent{self.device, self.stream.record()}; },
          nb::sig("def record(self) -> Event"), "An event of this point: of all work given so far.")
      .def("wait", &wait_for, "event"_a, nb::sig("def wait(self, event: Event) -> None"),
           "Has work that is given from now on wait for an event of the same device; returns at once.\n\n"
           "Raises InvalidError for an event of another device.");
  module.def("open_stream", &open_stream, "device"_a, "priority"_a,
             nb::sig("def open_stream(device: Device, priority: int) -> Stream"), "A stream of a device.");
}

}  // namespace raddle::python
