// Launches, and how many blocks fit.
#include "driver/launch.h"

#include <algorithm>

#include "base/notice.h"
#include "base/thread_value.h"
#include "driver/clusters.h"
#include "driver/entry.h"
#include "driver/function.h"
#include "driver/graph/capture.h"
#include "driver/launch_attributes.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

/// The parameter block that `extra` names, as one argument per parameter.
Status read_extra(void** extra, const KernelInfo& info, std::vector<Argument>& arguments) {
  const char* buffer = nullptr;
  std::size_t bytes = 0;
  for (void** next = extra; reinterpret_cast<std::uintptr_t>(*next) != kLaunchParametersEnd; next += 2) {
    const auto what = reinterpret_cast<std::uintptr_t>(*next);
    if (what == kLaunchParameterBuffer) buffer = static_cast<const char*>(next[1]);
    if (what == kLaunchParameterBytes && next[1] != nullptr)
      bytes = *static_cast<const std::size_t*>(next[1]);
    if (what > kLaunchParameterBytes) return CUDA_ERROR_INVALID_VALUE;
  }
  for (const KernelParameter& parameter : info.parameters) {
    if (buffer == nullptr || parameter.offset + parameter.bytes > bytes) return CUDA_ERROR_INVALID_VALUE;
    arguments.emplace_back(buffer + parameter.offset, parameter.bytes);
  }
  return CUDA_SUCCESS;
}

}  // namespace

Status read_arguments(void** parameters, void** extra, const KernelInfo& info,
                      std::vector<Argument>& arguments) {
  arguments.clear();
  if (parameters != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (extra != nullptr) return read_extra(extra, info, arguments);
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    if (parameters == nullptr || parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    arguments.emplace_back(parameters[i], info.parameters[i].bytes);
  }
  return CUDA_SUCCESS;
}

Status shape_launch(Function& function, const CUlaunchConfig& given, const LaunchAttributes& wanted,
                    LaunchConfig& config) {
  config = {.grid = {given.gridDimX, given.gridDimY, given.gridDimZ},
            .block = {given.blockDimX, given.blockDimY, given.blockDimZ},
            .shared_bytes = given.sharedMemBytes,
            .cooperative = wanted.cooperative,
            .priority = wanted.priority,
            .begins_early = wanted.begins_early,
            .triggers_at_start = wanted.triggers_at_start,
            .tells_begin = wanted.begin_event != nullptr};
  if (config.shared_bytes > static_cast<std::uint64_t>(dynamic_shared_limit(function)))
    return CUDA_ERROR_INVALID_VALUE;
  return asks_for_clusters(function, wanted) ? choose_clusters(function, wanted, config) : CUDA_SUCCESS;
}

Status result_of_launch(Context& context, const Error& error) {
  TRY(sticky_result(context));
  const CUresult result = result_of(error);
  if (result == CUDA_ERROR_NOT_SUPPORTED) base::notice("raddle: {}\n", error.message);
  return result == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES : result;
}

namespace entry {
namespace {

Status launch(Context& context, const std::shared_ptr<Function>& function, Stream& stream,
              const CUlaunchConfig& given, const LaunchAttributes& wanted, void** parameters, void** extra) {
  auto& arguments =
      thread_value<std::vector<Argument>, struct Arguments>();  // kept: a launch allocates nothing
  if (stream.context != function->module->context.get()) return CUDA_ERROR_INVALID_HANDLE;
  TRY(read_arguments(parameters, extra, function->kernel().info(), arguments));
  LaunchConfig config;
  TRY(shape_launch(*function, given, wanted, config));
  if (stream.is_capturing()) return capture_launch(stream, function, given, wanted, arguments);
  TRY(stream.order());
  config.stream = &stream.stream;
  const Result<void> started = function->kernel().start(config, arguments);
  return started ? Status(CUDA_SUCCESS) : result_of_launch(context, started.error());
}

/// An event of a launch attribute, or null.
/// @errors CUDA_ERROR_NOT_SUPPORTED: other processes know it, or it takes times
Answer<std::shared_ptr<Event>> find_event(Here context, CUevent handle) {
  if (handle == nullptr) return std::shared_ptr<Event>();
  TRY_ASSIGN(const std::shared_ptr<Event> event, find<Event>(handle));
  if (event->context != context) return CUDA_ERROR_INVALID_HANDLE;
  if (event->shared != nullptr || (event->flags & EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_NOT_SUPPORTED;
  return event;
}

}  // namespace

Status cuLaunchKernel(Here context, In<Function> function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      In<Stream> stream, void** parameters, void** extra) {
  const CUlaunchConfig given{grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes};
  return launch(*context, function, *stream, given, {}, parameters, extra);
}

Status cuLaunchCooperativeKernel(Here context, In<Function> function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                                 unsigned shared_bytes, In<Stream> stream, void** parameters) {
  CUlaunchAttribute cooperative{LAUNCH_COOPERATIVE};
  cooperative.value[0] = 1;
  const CUlaunchConfig given{grid_x,  grid_y,       grid_z,  block_x,      block_y,
                             block_z, shared_bytes, nullptr, &cooperative, 1};
  return launch(*context, function, *stream, given, {.cooperative = true}, parameters, nullptr);
}

Status cuLaunchKernelEx(Here context, const CUlaunchConfig* config, In<Function> function, void** parameters,
                        void** extra) {
  LaunchAttributes wanted;
  TRY_ASSIGN(const std::shared_ptr<Stream> stream, find<Stream>(config->hStream, context));
  TRY(read_launch_attributes(*config, wanted));
  TRY_ASSIGN(const std::shared_ptr<Event> at_trigger, find_event(context, wanted.trigger_event));
  TRY_ASSIGN(const std::shared_ptr<Event> at_begin, find_event(context, wanted.begin_event));
  const bool is_captured = stream->is_capturing();
  TRY(launch(*context, function, *stream, *config, wanted, parameters, extra));
  if (is_captured) return capture_launch_events(*stream, at_begin.get(), at_trigger.get());
  // Before the marker of the trigger, which would be the last in the stream. What the stream did may go on.
  if (at_begin != nullptr) at_begin->record(stream->stream.record_begin(), {});
  if (at_trigger != nullptr) at_trigger->record(stream->stream.record_trigger(), stream->history());
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
