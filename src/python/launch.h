// A started launch with all that it uses.
#pragma once

#include <memory>
#include <optional>

#include "python/arguments.h"
#include "python/device.h"
#include "python/stream.h"

namespace raddle::python {

class StartedLaunch {
 public:
  StartedLaunch(std::shared_ptr<LoadedModule> module, std::shared_ptr<OpenStream> stream, Arguments arguments,
                Launch launch)
      : module_(std::move(module)),
        stream_(std::move(stream)),
        arguments_(std::move(arguments)),
        launch_(std::move(launch)) {}
  StartedLaunch(const StartedLaunch&) = delete;
  ~StartedLaunch();

  LaunchReport wait();
  bool done() const { return ended_ || launch_->done(); }
  void cancel() {
    if (!ended_) launch_->cancel();
  }

 private:
  void wait_for_end();

  std::shared_ptr<LoadedModule> module_;  ///< goes last, with the device
  std::shared_ptr<OpenStream> stream_;    ///< null: the default one
  Arguments arguments_;
  std::optional<Launch> launch_;
  std::optional<LaunchReport> report_;  ///< of a launch that has ended well
  bool ended_ = false;
};

}  // namespace raddle::python
