// Device, module, buffers, launches, copies back: the whole of the API that an example needs.
#include "runner.h"

#include <algorithm>
#include <chrono>

#include "exec/tensor_map.h"

namespace examples {
namespace {

using raddle::Result;

raddle::Dim3 dimensions(const unsigned (&size)[3]) { return {size[0], size[1], size[2]}; }

struct TensorMapBytes {
  alignas(raddle::exec::kTensorMapAlignment) std::byte bytes[raddle::exec::kTensorMapBytes];
};

/// What cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col do.
TensorMapBytes encoded(const TensorMapOf& from, raddle::DevicePtr address) {
  using raddle::exec::TensorMap;
  constexpr TensorMap::Element kElements[] = {TensorMap::Element::u32, TensorMap::Element::f32,
                                              TensorMap::Element::bf16};
  TensorMap map;
  map.element = kElements[from.element];
  if (from.swizzled) map.swizzle = TensorMap::Swizzle::bytes128;
  map.rank = static_cast<std::uint32_t>(from.sizes.size());
  map.address = address.value;
  std::uint64_t stride = element_bytes(map.element);
  for (std::size_t d = 0; d < from.sizes.size(); ++d) {
    map.size[d] = from.sizes[d];
    map.stride[d] = stride;
    map.step[d] = 1;
    stride *= from.sizes[d];
  }
  std::copy(from.box.begin(), from.box.end(), map.box.begin());
  if (from.pixels != 0) {
    map.mode = TensorMap::Mode::im2col;
    std::copy(from.lower.begin(), from.lower.end(), map.lower.begin());
    std::copy(from.upper.begin(), from.upper.end(), map.upper.begin());
    map.channels = from.channels;
    map.pixels = from.pixels;
  }
  TensorMapBytes made;
  encode(map, made.bytes);
  return made;
}

/// Arguments as the kernel takes them; buffer references become addresses.
struct BoundArguments {
  std::vector<raddle::DevicePtr> addresses;
  std::vector<TensorMapBytes> maps;
  std::vector<raddle::Argument> list;
};

BoundArguments bind(const LaunchStep& step, const std::vector<raddle::Buffer<std::byte>>& buffers) {
  BoundArguments bound;
  bound.addresses.reserve(step.arguments.size());  // Argument keeps a pointer: no reallocation
  bound.maps.reserve(step.arguments.size());
  for (const Argument& argument : step.arguments) {
    if (const BufferRef* reference = std::get_if<BufferRef>(&argument)) {
      bound.addresses.push_back(buffers[reference->index].address() + reference->byte_offset);
      bound.list.emplace_back(bound.addresses.back());
    } else if (const TensorMapOf* map = std::get_if<TensorMapOf>(&argument)) {
      bound.maps.push_back(encoded(*map, buffers[map->tensor.index].address() + map->tensor.byte_offset));
      bound.list.emplace_back(bound.maps.back());
    } else if (const std::int32_t* integer = std::get_if<std::int32_t>(&argument)) {
      bound.list.emplace_back(*integer);
    } else {
      bound.list.emplace_back(std::get<float>(argument));
    }
  }
  return bound;
}

/// Notes what the reports say: the engine must be one for all steps; operations add up over the kernels.
void note(const raddle::LaunchReport& report, bool first_step, Outcome& outcome) {
  if (first_step) {
    outcome.engine = report.engine;
    outcome.block_kind = report.block_kind;
    outcome.memory_operations = report.memory_operations;
    outcome.not_vectorised = report.not_vectorised;
    outcome.compile_seconds = report.compile_seconds;
  } else if (outcome.engine != report.engine) {
    outcome.engine += "+" + report.engine;
  }
}

/// One run of all steps, from launch to completion. @returns seconds
Result<double> run_steps(const Example& example, raddle::Module& module,
                         const std::vector<raddle::Buffer<std::byte>>& buffers, Outcome& outcome) {
  double seconds = 0;
  for (const LaunchStep& step : example.steps) {
    TRY_ASSIGN(raddle::Kernel kernel, module.kernel(step.kernel));
    const BoundArguments arguments = bind(step, buffers);
    const raddle::Dim3 block = dimensions(step.block);
    TRY_ASSIGN([[maybe_unused]] const raddle::LaunchReport compiled, kernel.compile(block));
    const auto start = std::chrono::steady_clock::now();
    TRY_ASSIGN(raddle::Launch launch, kernel.launch({.grid = dimensions(step.grid),
                                                     .block = block,
                                                     .shared_bytes = step.shared_bytes,
                                                     .cluster = step.cluster != 0 ? raddle::Dim3{step.cluster}
                                                                                  : raddle::Dim3{0, 0, 0}},
                                                    std::span<const raddle::Argument>(arguments.list)));
    TRY_ASSIGN(const raddle::LaunchReport report, launch.wait());
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    note(report, &step == &example.steps.front(), outcome);
  }
  return seconds;
}

using Buffers = std::vector<raddle::Buffer<std::byte>>;

Result<Buffers> make_buffers(const Example& example, raddle::Device& device) {
  Buffers buffers;
  for (const Bytes& contents : example.buffers) {
    TRY_ASSIGN(raddle::Buffer<std::byte> buffer, device.buffer(contents));
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

Result<std::vector<Bytes>> contents_of(const Buffers& buffers) {
  std::vector<Bytes> contents;
  for (const auto& buffer : buffers) {
    contents.emplace_back(buffer.size());
    TRY(buffer.read(contents.back()));
  }
  return contents;
}

Result<void> run_through_api(const Example& example, const EngineChoice& engine, int runs, Outcome& outcome) {
  TRY_ASSIGN(raddle::Device device,
             raddle::Device::open({.engine = engine.name, .simd = engine.simd, .tier = engine.tier}));
  TRY_ASSIGN(raddle::Module module, device.load_file(engine.kernels + "/" + example.file + ".ptx"));
  TRY_ASSIGN(Buffers buffers, make_buffers(example, device));
  for (int run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < buffers.size(); ++i) TRY(buffers[i].write(example.buffers[i]));
    TRY_ASSIGN(const double seconds, run_steps(example, module, buffers, outcome));
    outcome.seconds = run == 0 ? seconds : std::min(outcome.seconds, seconds);
  }
  TRY_ASSIGN(const std::vector<Bytes> results, contents_of(buffers));
  outcome.check = example.check(results);
  return {};
}

}  // namespace

Result<std::vector<Bytes>> results_of(const Example& example, raddle::Device& device,
                                      raddle::Module& module) {
  TRY_ASSIGN(const Buffers buffers, make_buffers(example, device));
  Outcome ignored;
  TRY_ASSIGN([[maybe_unused]] const double seconds, run_steps(example, module, buffers, ignored));
  return contents_of(buffers);
}

Outcome run_example(const Example& example, const EngineChoice& engine, int runs) {
  Outcome outcome;
  if (Result<void> ran = run_through_api(example, engine, runs, outcome); !ran.ok()) {
    outcome.error = ran.error().to_string();
  }
  return outcome;
}

}  // namespace examples
