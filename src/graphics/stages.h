// The kernels of the fixed stages, loaded into a device, and the steps that are made of them.
#pragma once

#include <cstring>
#include <memory>

#include "graphics/plan.h"
#include "raddle/graphics.h"

namespace raddle::graphics {

/// One kernel for each fixed stage.
struct Stages {
  std::vector<Module> modules;  ///< that the kernels live in
  Kernel runs, assemble, count_division, divide, setup, bin, raster, merge, clear, resolve;

  /// @errors as Device::load
  static Result<std::unique_ptr<Stages>> load(Device& device);
};

/// The steps of a draw in their order.
std::vector<DrawStep> steps_of(const Stages& stages, const Draw& draw, const Plan& plan);

/// A launch of `blocks` blocks of `threads`; arguments are copied into the step.
template <class... Arguments>
DrawStep launch_step(const char* stage, const Kernel& kernel, std::uint64_t blocks, unsigned threads,
                     const Arguments&... arguments) {
  DrawStep step;
  step.stage = stage;
  step.kernel = kernel;
  step.config.grid = {static_cast<std::uint32_t>(blocks)};
  step.config.block = {threads};
  const auto append = [&step](const void* from, std::size_t bytes) {
    step.arguments.push_back(bytes);
    step.packed.resize(step.packed.size() + bytes);
    std::memcpy(step.packed.data() + step.packed.size() - bytes, from, bytes);
  };
  (append(&arguments, sizeof arguments), ...);
  return step;
}

}  // namespace raddle::graphics
