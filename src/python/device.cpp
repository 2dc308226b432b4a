// raddle._raddle.Device, Module and Memory.
#include "python/device.h"

#include <chrono>

#include "base/file.h"
#include "python/errors.h"

namespace raddle::python {
namespace {

using nb::literals::operator""_a;

/// What kernels print goes where Python prints.
void print(std::string_view text) {
  nb::gil_scoped_acquire locked;
  try {
    nb::module_::import_("sys").attr("stdout").attr("write")(std::string(text));
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("writing what a kernel printed");
  }
}

DeviceOptions device_options(std::string shape, std::string engine, unsigned workers,
                             std::uint64_t memory_bytes, double time_limit,
                             std::optional<std::uint64_t> deterministic, std::string server,
                             std::string code_cache) {
  if (!(time_limit >= 0))
    raise(Error::invalid("time_limit is {} seconds: 0 or more was expected", time_limit));
  DeviceOptions options;
  options.shape = std::move(shape);
  options.engine = std::move(engine);
  options.workers = workers;
  options.memory_bytes = memory_bytes;
  options.time_limit = std::chrono::milliseconds(static_cast<std::int64_t>(time_limit * 1e3 + 0.999));
  options.deterministic = deterministic;
  options.server = std::move(server);
  options.code_cache = std::move(code_cache);
  options.output = print;
  return options;
}

std::shared_ptr<OpenDevice> open(const DeviceOptions& options) {
  return std::make_shared<OpenDevice>(take([&] {
    nb::gil_scoped_release unlocked;
    return Device::open(options);
  }()));
}

std::shared_ptr<LoadedModule> load(const std::shared_ptr<OpenDevice>& device, std::string_view image,
                                   const std::string& name) {
  const Program::Image one{.bytes = image, .name = name};
  Program program = take(Program::read({&one, 1}, device->device->properties().capability), image);
  const std::vector<std::string> texts = program.texts();
  return std::make_shared<LoadedModule>(device, take(device->device->load(program)),
                                        texts.size() == 1 ? texts.front() : std::string());
}

std::shared_ptr<LoadedModule> load_bytes(const std::shared_ptr<OpenDevice>& device, const nb::bytes& image,
                                         const std::string& name) {
  return load(device, {image.c_str(), image.size()}, name);
}

nb::dict properties(const OpenDevice& device) {
  const DeviceProperties found = device.device->properties();
  nb::dict all;
  all["shape"] = found.shape;
  all["engine"] = found.engine;
  all["sm_count"] = found.sm_count;
  all["workers"] = found.workers;
  all["capability"] = nb::make_tuple(found.capability / 10, found.capability % 10);
  all["memory_bytes"] = found.memory_bytes;
  all["shared_bytes_per_block"] = found.shared_bytes_per_block;
  all["threads_per_block"] = found.threads_per_block;
  return all;
}

void synchronize(OpenDevice& device) {
  take([&] {
    nb::gil_scoped_release unlocked;
    return device.device->synchronize();
  }());
}

nb::tuple variable(const LoadedModule& module, std::string_view name) {
  const Module::Variable found = take(module.module->variable(name));
  return nb::make_tuple(found.address.value, found.bytes);
}

}  // namespace

void bind_device(nb::module_& module) {
  nb::class_<Memory>(module, "Memory", "Device memory, in bytes; freed with this object.")
      .def_prop_ro("address", &Memory::address)
      .def_prop_ro("nbytes", &Memory::bytes)
      .def("write", &Memory::write, "source"_a, nb::sig("def write(self, source: object) -> None"),
           "Copies an object of the buffer protocol into the first bytes.")
      .def("read", &Memory::read, "target"_a, nb::sig("def read(self, target: object) -> None"),
           "Copies the first bytes into a writable object of the buffer protocol.")
      .def("fill", &Memory::fill, "value"_a, "Sets every byte, to 0 to 255.");

  nb::class_<LoadedModule>(module, "Module", "Loaded device code.")
      .def_prop_ro(
          "kernels", [](const LoadedModule& self) { return self.module->kernels(); },
          "The names of the kernels, in the order of the text.")
      .def("variable", &variable, "name"_a, nb::sig("def variable(self, name: str) -> tuple[int, int]"),
           "Address and bytes of a variable of the module.");

  nb::class_<OpenDevice>(module, "Device", "An open device.")
      .def("load", &load_bytes, "image"_a, "name"_a,
           nb::sig("def load(self, image: bytes, name: str) -> Module"),
           "Loads PTX, a fat binary or a cubin.")
      .def(
          "allocate",
          [](const std::shared_ptr<OpenDevice>& self, std::uint64_t bytes) {
            return std::make_unique<Memory>(self, bytes);
          },
          "bytes"_a, nb::sig("def allocate(self, bytes: int) -> Memory"), "Allocates device memory.")
      .def("synchronize", &synchronize, "Waits for all work.")
      .def("properties", &properties, nb::sig("def properties(self) -> dict"), "What the device is.")
      .def_prop_ro(
          "memory_used", [](const OpenDevice& self) { return self.device->memory_used(); }, "Bytes in use.");
  module.def(
      "open",
      [](std::string shape, std::string engine, unsigned workers, std::uint64_t memory_bytes,
         double time_limit, std::optional<std::uint64_t> deterministic, std::string server,
         std::string code_cache) {
        return open(device_options(std::move(shape), std::move(engine), workers, memory_bytes, time_limit,
                                   deterministic, std::move(server), std::move(code_cache)));
      },
      "shape"_a, "engine"_a, "workers"_a, "memory_bytes"_a, "time_limit"_a, "deterministic"_a.none(),
      "server"_a, "code_cache"_a, "Opens a device.");
}

}  // namespace raddle::python
