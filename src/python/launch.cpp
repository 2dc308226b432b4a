// raddle._raddle.Launch: waiting for a kernel, with Ctrl-C.
#include "python/launch.h"

#include <chrono>

#include "python/errors.h"

namespace raddle::python {
namespace {

constexpr std::chrono::milliseconds kBetweenSignals{50};

}  // namespace

StartedLaunch::~StartedLaunch() {
  nb::gil_scoped_release unlocked;
  if (!ended_) (void)launch_->wait();
  launch_.reset();
}

/// Waits for the end of the kernel; Ctrl-C cancels it.
void StartedLaunch::wait_for_end() {
  if (launch_->done()) return;
  std::future<Result<LaunchReport>> end = launch_->future();
  for (;;) {
    const bool has_ended = [&] {
      nb::gil_scoped_release unlocked;
      return end.wait_for(kBetweenSignals) == std::future_status::ready;
    }();
    if (has_ended) return;
    if (PyErr_CheckSignals() == 0) continue;
    launch_->cancel();
    {
      nb::gil_scoped_release unlocked;
      end.wait();
    }
    ended_ = true;
    throw nb::python_error();
  }
}

LaunchReport StartedLaunch::wait() {
  if (!ended_) {
    wait_for_end();
    Result<LaunchReport> result = [&] {
      nb::gil_scoped_release unlocked;
      return launch_->wait();  // writes what the kernel printed
    }();
    ended_ = true;
    report_ = take(std::move(result), module_->source);
    arguments_.copy_back();
  }
  if (!report_) raise(Error::make(ErrorCode::kernel_fault, "the launch has failed or was cancelled"));
  return *report_;
}

void bind_launch(nb::module_& module) {
  nb::class_<LaunchReport>(module, "LaunchReport", "How a kernel was compiled, and what its launch took.")
      .def_ro("engine", &LaunchReport::engine, "\"jit\" or \"interp\"")
      .def_ro("block_kind", &LaunchReport::block_kind,
              "How its blocks ran: \"loops\", \"regions\", \"fibers\"")
      .def_ro("compile_seconds", &LaunchReport::compile_seconds, "Seconds; 0 for code from the code cache")
      .def_ro("from_cache", &LaunchReport::from_cache, "Whether the code came from the code cache")
      .def_ro("is_quick", &LaunchReport::is_quick, "Whether it was compiled in the quick tier")
      .def_ro("seconds", &LaunchReport::seconds, "Seconds from the first block's start to the last one's end")
      .def("__repr__", [](const LaunchReport& self) {
        return fmt::format("<raddle.LaunchReport: {:.3g} ms on {}, {:.3g} ms to compile>", self.seconds * 1e3,
                           self.engine, self.compile_seconds * 1e3);
      });
  nb::class_<StartedLaunch>(module, "Launch", "A kernel that was started. Dropping it waits for its end.")
      .def("wait", &StartedLaunch::wait,
           "Waits for the end, then copies arrays of the host back. Ctrl-C cancels the kernel.\n\n"
           "Raises KernelFault, with the PTX line, or LaunchTimeout.")
      .def_prop_ro("done", &StartedLaunch::done, "Whether the kernel has ended; does not wait.")
      .def("cancel", &StartedLaunch::cancel, "Stops the kernel at the next turn of a loop.");
}

}  // namespace raddle::python
