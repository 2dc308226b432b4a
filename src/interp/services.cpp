// Functions that programs may call without defining them: CUDA's device services, through the machine's
// Services.
#include "base/assert.h"
#include "interp/lane.h"
#include "interp/warp.h"
#include "ptx/device_services.h"

namespace raddle::interp {
namespace {

void call_vprintf(Lane& lane, const ptx::Call& call) {
  std::uint64_t format = lane.argument(call, 0), arguments = lane.argument(call, 1);
  std::int32_t result = lane.services().vprintf(&lane.context(), lane.index(), format, arguments);
  lane.set_return(call, static_cast<std::uint32_t>(result));
}

void call_assert_fail(Lane& lane, const ptx::Call& call) {
  auto line = static_cast<std::uint32_t>(lane.argument(call, 2));
  lane.services().assert_fail(&lane.context(), lane.index(), lane.argument(call, 0), lane.argument(call, 1),
                              line, lane.argument(call, 3));
}

void call_malloc(Lane& lane, const ptx::Call& call) {
  lane.set_return(call, lane.services().malloc(&lane.context(), lane.argument(call, 0)));
}

void call_free(Lane& lane, const ptx::Call& call) {
  lane.context().cta->running_lane = lane.index() + 1;
  lane.services().free(&lane.context(), lane.argument(call, 0));
}

void call_device_runtime(Lane& lane, const ptx::Call& call) {
  std::uint64_t arguments[exec::kDeviceRuntimeArguments] = {};
  lane.argument_words(call, arguments);
  const auto function = *ptx::find_device_runtime(lane.name_of_callee(call));
  lane.set_return(call, lane.services().device_runtime(&lane.context(), lane.index(),
                                                       static_cast<std::uint32_t>(function), arguments));
}

}  // namespace

BuiltIn built_in(ptx::DeviceService service) {
  switch (service) {
    case ptx::DeviceService::vprintf:
      return call_vprintf;
    case ptx::DeviceService::assert_fail:
      return call_assert_fail;
    case ptx::DeviceService::malloc:
      return call_malloc;
    case ptx::DeviceService::free:
      return call_free;
    case ptx::DeviceService::device_runtime:
      return call_device_runtime;
  }
  RADDLE_UNREACHABLE("a device service without its call");
}

}  // namespace raddle::interp
