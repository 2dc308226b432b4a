// raddle._raddle.Kernel and KernelInfo.
#include "python/errors.h"
#include "python/launch.h"

namespace raddle::python {
namespace {

using nb::literals::operator""_a;

Dim3 dim3_of(const std::vector<std::uint32_t>& extents) {
  if (extents.empty() || extents.size() > 3)
    raise(Error::invalid("{} extents given: a grid, block or cluster has 1 to 3", extents.size()));
  Dim3 all;
  all.x = extents[0];
  if (extents.size() > 1) all.y = extents[1];
  if (extents.size() > 2) all.z = extents[2];
  return all;
}

/// None where nothing is required.
nb::object extents_of(Dim3 extents) {
  if (extents.x == 0) return nb::none();
  return nb::make_tuple(extents.x, std::max(extents.y, 1u), std::max(extents.z, 1u));
}

/// A kernel with the module that it is of.
struct LoadedKernel {
  std::shared_ptr<LoadedModule> module;
  Kernel kernel;
};

LoadedKernel kernel_of(const std::shared_ptr<LoadedModule>& module, std::string_view name) {
  return {module, take(module->module->kernel(name), module->source)};
}

std::unique_ptr<StartedLaunch> launch(LoadedKernel& self, const nb::tuple& values,
                                      const std::vector<std::uint32_t>& grid,
                                      const std::optional<std::vector<std::uint32_t>>& block,
                                      std::uint64_t shared,
                                      const std::optional<std::vector<std::uint32_t>>& cluster,
                                      bool cooperative, const std::shared_ptr<OpenStream>& stream) {
  if (stream != nullptr && stream->device != self.module->device)
    raise(Error::invalid("the stream is of another device than the kernel"));
  LaunchConfig config;
  config.stream = stream == nullptr ? nullptr : &stream->stream;
  config.grid = dim3_of(grid);
  config.block = block ? dim3_of(*block) : self.kernel.suggested_block();
  config.shared_bytes = shared;
  if (cluster) config.cluster = dim3_of(*cluster);
  config.cooperative = cooperative;
  Arguments arguments(self.module->device, self.kernel.info(), nb::borrow<nb::args>(values));
  Launch started = take(
      [&] {
        const std::vector<Argument> list = arguments.list();
        nb::gil_scoped_release unlocked;  // the kernel may have to be compiled
        return self.kernel.launch(config, std::span<const Argument>(list));
      }(),
      self.module->source);
  return std::make_unique<StartedLaunch>(self.module, stream, std::move(arguments), std::move(started));
}

std::vector<KernelInfo> inspect(const nb::bytes& image, const std::string& name, std::uint32_t capability) {
  const std::string_view text(image.c_str(), image.size());
  const Program::Image one{.bytes = text, .name = name};
  const Program program = take(Program::read({&one, 1}, capability), text);
  std::vector<KernelInfo> all;
  for (const std::string& kernel : program.kernels()) all.push_back(take(program.kernel(kernel)));
  return all;
}

void bind_information(nb::module_& module) {
  nb::class_<KernelParameter>(module, "KernelParameter", "A parameter of a kernel.")
      .def_ro("name", &KernelParameter::name)
      .def_ro("type", &KernelParameter::type, "As in PTX: \"u64\", \"f32\", \"b8\"")
      .def_ro("nbytes", &KernelParameter::bytes)
      .def("__repr__",
           [](const KernelParameter& self) { return fmt::format("<.{} {}>", self.type, self.name); });
  nb::class_<KernelInfo>(module, "KernelInfo", "What a kernel needs, known before any launch.")
      .def_ro("name", &KernelInfo::name)
      .def_ro("parameters", &KernelInfo::parameters)
      .def_ro("registers", &KernelInfo::registers, "32-bit registers that are live at once, per thread")
      .def_ro("static_shared_bytes", &KernelInfo::static_shared_bytes, "Bytes per block")
      .def_ro("uses_dynamic_shared", &KernelInfo::uses_dynamic_shared, "Whether launches may give more")
      .def_ro("local_bytes_per_thread", &KernelInfo::local_bytes_per_thread)
      .def_ro("constant_bytes", &KernelInfo::constant_bytes)
      .def_ro("barriers", &KernelInfo::barriers)
      .def_prop_ro(
          "required_block", [](const KernelInfo& self) { return extents_of(self.required_block); },
          nb::sig("def required_block(self) -> tuple[int, int, int] | None"),
          "The only block it runs with; None: any")
      .def_prop_ro(
          "required_cluster", [](const KernelInfo& self) { return extents_of(self.required_cluster); },
          nb::sig("def required_cluster(self) -> tuple[int, int, int] | None"))
      .def_ro("unsupported", &KernelInfo::unsupported, "Why it cannot run; empty: no reason known")
      .def("__repr__", [](const KernelInfo& self) {
        return fmt::format("<raddle.KernelInfo {}: {} parameters, {} registers>", self.name,
                           self.parameters.size(), self.registers);
      });
}

}  // namespace

void bind_kernel(nb::module_& module) {
  bind_information(module);
  nb::class_<LoadedKernel>(module, "Kernel", "A kernel of a loaded module.")
      .def_prop_ro(
          "info", [](const LoadedKernel& self) { return self.kernel.info(); }, "What it needs.")
      .def_prop_ro(
          "suggested_block",
          [](const LoadedKernel& self) {
            const Dim3 block = self.kernel.suggested_block();
            return nb::make_tuple(block.x, block.y, block.z);
          },
          nb::sig("def suggested_block(self) -> tuple[int, int, int]"),
          "A block size, in threads, for this host.")
      .def("start", &launch, "arguments"_a, "grid"_a, "block"_a.none(), "shared"_a, "cluster"_a.none(),
           "cooperative"_a, "stream"_a.none(),
           nb::sig("def start(self, arguments: tuple, grid: collections.abc.Sequence[int], block: "
                   "collections.abc.Sequence[int] | None, "
                   "shared: int, cluster: collections.abc.Sequence[int] | None, cooperative: bool, "
                   "stream: Stream | None) -> Launch"),
           "Checks everything, then starts the kernel and returns at once.");
  module.def("kernel", &kernel_of, "module"_a, "name"_a, "A kernel by its name.");
  module.def("inspect", &inspect, "image"_a, "name"_a, "capability"_a,
             "What each kernel of an image needs, without a device.");
}

}  // namespace raddle::python
