// Where work of a pass goes when the pass is turned into work of a device: draws and bodies in another
// language (G-17, G-20) see the device through this.
#pragma once

#include <functional>
#include <span>

#include "raddle/graph/resource.h"
#include "raddle/raddle.h"

namespace raddle::graph {

class KernelCode;

/// Work goes in order: each piece begins after the one before it.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual Device& device() = 0;
  /// Where the view's first byte lies in this run. @errors invalid: a resource that the pass does not name
  virtual Result<DevicePtr> address(const View& view) const = 0;
  /// The view of an image, as textures, surfaces and draws take it. @errors invalid, as address(); a buffer
  virtual Result<Image> image(const View& view) const = 0;
  virtual Result<Kernel> kernel(const KernelCode& code) = 0;
  /// A handle that lives as long as the run's plan does.
  virtual Result<TextureHandle> texture(const View& view, const Sampler& sampler) = 0;
  virtual Result<SurfaceHandle> surface(const View& view) = 0;

  virtual Result<void> launch(const Kernel& kernel, const LaunchConfig& config,
                              std::span<const Argument> arguments) = 0;
  virtual Result<void> copy(const BoxCopy& copy) = 0;
  virtual Result<void> fill(const RowFill& fill) = 0;
  virtual Result<void> call(std::function<void()> function) = 0;
};

}  // namespace raddle::graph
