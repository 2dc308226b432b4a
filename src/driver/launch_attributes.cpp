#include "driver/launch_attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace raddle::driver {
namespace {

/// foreign: of streams, and no launch's (an H200 answers CUDA_ERROR_INVALID_VALUE)
enum class How { honoured, harmless, refused, foreign };

struct Known {
  int id;
  How how;
  const char *name, *text;
};
constexpr Known kKnown[] = {
#define LAUNCH_ATTRIBUTE(name, number, how, text) {number, How::how, #name, text},
#include "base/notice.h"
#include "driver/launch_attributes.def"
#undef LAUNCH_ATTRIBUTE
};

/// Members of CUlaunchAttributeValue.
struct CompletionEvent {
  CUevent event;
  unsigned flags;  ///< as of cuEventRecordWithFlags, but for EXTERNAL
};
struct ProgrammaticEvent {
  CUevent event;
  unsigned flags;  ///< likewise
  int at_start;
};

template <class T>
T value_of(const CUlaunchAttribute& attribute) {
  T value;
  std::memcpy(&value, attribute.value, sizeof value);
  return value;
}

Status refuse(const Known& known) {
  base::notice("raddle: launch attribute {}: {}\n", known.name, known.text);
  return CUDA_ERROR_NOT_SUPPORTED;
}

Status read_extents(const CUlaunchAttribute& attribute, Dim3& extents) {
  extents = value_of<Dim3>(attribute);
  return extents.x != 0 && extents.y != 0 && extents.z != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

/// External events are for captures (an H200 says so of any launch).
Status check_event_flags(unsigned flags) {
  if (flags == EVENT_EXTERNAL) return CUDA_ERROR_ILLEGAL_STATE;
  return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

Status honour(const CUlaunchAttribute& attribute, LaunchAttributes& wanted) {
  switch (attribute.id) {
    case LAUNCH_COOPERATIVE:
      wanted.cooperative = value_of<int>(attribute) != 0;
      return CUDA_SUCCESS;
    case LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION:
      wanted.begins_early = value_of<int>(attribute) != 0;
      return CUDA_SUCCESS;
    case LAUNCH_PROGRAMMATIC_EVENT: {
      const auto [event, flags, at_start] = value_of<ProgrammaticEvent>(attribute);
      TRY(check_event_flags(flags));
      wanted.trigger_event = event;
      wanted.triggers_at_start = at_start != 0;
      return CUDA_SUCCESS;
    }
    case LAUNCH_PRIORITY:
      wanted.priority = std::clamp(value_of<int>(attribute), kGreatestPriority, kLeastPriority);
      return CUDA_SUCCESS;
    case LAUNCH_CLUSTER_DIMENSION:
      return read_extents(attribute, wanted.cluster);
    case LAUNCH_PREFERRED_CLUSTER_DIMENSION:
      return read_extents(attribute, wanted.preferred_cluster);
    case LAUNCH_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      wanted.policy = CUclusterSchedulingPolicy{value_of<int>(attribute)};
      return wanted.policy >= CLUSTER_SCHEDULING_POLICY_DEFAULT &&
                     wanted.policy <= CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING
                 ? CUDA_SUCCESS
                 : CUDA_ERROR_INVALID_VALUE;
    default: {
      const auto [event, flags] = value_of<CompletionEvent>(attribute);
      wanted.begin_event = event;
      return check_event_flags(flags);
    }
  }
}

}  // namespace

Status read_launch_attributes(const CUlaunchConfig& config, LaunchAttributes& wanted) {
  if (config.numAttrs != 0 && config.attrs == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    const auto* known = std::ranges::find(kKnown, attribute.id, &Known::id);
    if (known == std::end(kKnown)) return CUDA_ERROR_INVALID_VALUE;
    if (known->how == How::honoured) TRY(honour(attribute, wanted));
    if (known->how == How::refused) TRY(refuse(*known));
    if (known->how == How::foreign) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver
