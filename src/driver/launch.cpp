// Launches, and how many blocks fit.
#include <algorithm>

#include "base/thread_value.h"
#include "driver/clusters.h"
#include "driver/entry.h"
#include "driver/function.h"
#include "driver/launch_attributes.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
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

Status result_of_launch(const Error& error) {
  const CUresult result = result_of(error);
  if (result == CUDA_ERROR_NOT_SUPPORTED) fmt::print(stderr, "raddle: {}\n", error.message);
  return result == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES : result;
}

Status launch(Context& context, Function& function, Stream& stream, const LaunchConfig& shape,
              const LaunchAttributes& wanted, void** parameters, void** extra) {
  auto& arguments =
      thread_value<std::vector<Argument>, struct Arguments>();  // kept: a launch allocates nothing
  const KernelInfo& info = function.kernel().info();
  if (stream.context != function.module->context.get()) return CUDA_ERROR_INVALID_HANDLE;
  TRY(read_arguments(parameters, extra, info, arguments));
  if (shape.shared_bytes > static_cast<std::uint64_t>(dynamic_shared_limit(function)))
    return CUDA_ERROR_INVALID_VALUE;
  LaunchConfig config = shape;
  if (asks_for_clusters(function, wanted)) TRY(choose_clusters(function, wanted, config));
  stream.order();
  config.stream = &stream.stream;
  const Result<Launch> launched = function.kernel().launch(config, std::span<const Argument>(arguments));
  if (launched) return CUDA_SUCCESS;
  TRY(sticky_result(context));
  return result_of_launch(launched.error());
}

/// An event of a launch attribute, or null.
/// @errors CUDA_ERROR_INVALID_VALUE: other processes know it, or it takes times
Answer<std::shared_ptr<Event>> find_event(Here context, CUevent handle) {
  if (handle == nullptr) return std::shared_ptr<Event>();
  TRY_ASSIGN(const std::shared_ptr<Event> event, find<Event>(handle));
  if (event->context != context) return CUDA_ERROR_INVALID_HANDLE;
  if (event->shared != nullptr || (event->flags & EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  return event;
}

void record(Event& event, const raddle::Event& point, const Stream::History& history) {
  const std::lock_guard lock(event.mutex);
  event.recorded = point;
  event.history = history;
}

}  // namespace

Status cuLaunchKernel(Here context, In<Function> function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      In<Stream> stream, void** parameters, void** extra) {
  const LaunchConfig config{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
  return launch(*context, *function, *stream, config, {}, parameters, extra);
}

Status cuLaunchCooperativeKernel(Here context, In<Function> function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                                 unsigned shared_bytes, In<Stream> stream, void** parameters) {
  const LaunchConfig config{.grid = {grid_x, grid_y, grid_z},
                            .block = {block_x, block_y, block_z},
                            .shared_bytes = shared_bytes,
                            .cooperative = true};
  return launch(*context, *function, *stream, config, {}, parameters, nullptr);
}

Status cuLaunchKernelEx(Here context, const CUlaunchConfig* config, In<Function> function, void** parameters,
                        void** extra) {
  LaunchAttributes wanted;
  TRY_ASSIGN(const std::shared_ptr<Stream> stream, find<Stream>(config->hStream, context));
  TRY(read_launch_attributes(*config, wanted));
  const LaunchConfig shape{.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                           .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                           .shared_bytes = config->sharedMemBytes,
                           .cooperative = wanted.cooperative,
                           .priority = wanted.priority,
                           .begins_early = wanted.begins_early,
                           .triggers_at_start = wanted.triggers_at_start,
                           .tells_begin = wanted.begin_event != nullptr};
  TRY_ASSIGN(const std::shared_ptr<Event> at_trigger, find_event(context, wanted.trigger_event));
  TRY_ASSIGN(const std::shared_ptr<Event> at_begin, find_event(context, wanted.begin_event));
  TRY(launch(*context, *function, *stream, shape, wanted, parameters, extra));
  // Before the marker of the trigger, which would be the last in the stream. What the stream did may go on.
  if (at_begin != nullptr) record(*at_begin, stream->stream.record_begin(), {});
  if (at_trigger != nullptr) record(*at_trigger, stream->stream.record_trigger(), stream->history());
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
