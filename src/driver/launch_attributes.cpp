#include "driver/launch_attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace raddle::driver {
namespace {

enum class How { honoured, harmless, refused };

struct Known {
  int id;
  How how;
  const char *name, *text;
};
constexpr Known kKnown[] = {
#define LAUNCH_ATTRIBUTE(name, number, how, text) {number, How::how, #name, text},
#include "driver/launch_attributes.def"
#undef LAUNCH_ATTRIBUTE
};

template <class T>
T value_of(const CUlaunchAttribute& attribute) {
  T value;
  std::memcpy(&value, attribute.value, sizeof value);
  return value;
}

/// A refused attribute may still be there and ask for nothing: clusters of one block, a node that no kernel
/// updates.
CUresult refuse(const Known& known, const CUlaunchAttribute& attribute) {
  if (known.id == LAUNCH_CLUSTER_DIMENSION) {
    const auto extents = value_of<std::array<unsigned, 3>>(attribute);
    if (std::ranges::count(extents, 0u) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (std::ranges::count(extents, 1u) == 3) return CUDA_SUCCESS;
  } else if (value_of<int>(attribute) == 0) {
    return CUDA_SUCCESS;
  }
  fmt::print(stderr, "raddle: launch attribute {}: {}\n", known.name, known.text);
  return CUDA_ERROR_NOT_SUPPORTED;
}

void honour(const CUlaunchAttribute& attribute, LaunchAttributes& wanted) {
  if (attribute.id == LAUNCH_COOPERATIVE) {
    wanted.cooperative = value_of<int>(attribute) != 0;
  } else if (attribute.id == LAUNCH_PRIORITY) {
    wanted.priority = std::clamp(value_of<int>(attribute), kGreatestPriority, kLeastPriority);
  } else if (const auto event = value_of<CUevent>(attribute); event != nullptr) {
    wanted.events.push_back(event);
  }
}

}  // namespace

CUresult read_launch_attributes(const CUlaunchConfig& config, LaunchAttributes& wanted) {
  if (config.numAttrs != 0 && config.attrs == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    const auto* known = std::ranges::find(kKnown, attribute.id, &Known::id);
    if (known == std::end(kKnown)) return CUDA_ERROR_INVALID_VALUE;
    if (known->how == How::honoured) honour(attribute, wanted);
    if (known->how != How::refused) continue;
    if (const CUresult result = refuse(*known, attribute); result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver
