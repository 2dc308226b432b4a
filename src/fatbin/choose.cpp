// Which PTX of a container a device takes.
#include <utility>

#include "fatbin/container.h"

namespace raddle::fatbin {
namespace {

bool runs_on(const Entry& entry, std::uint32_t capability) {
  switch (entry.feature) {
    case Feature::baseline:
      return entry.capability <= capability;
    case Feature::architecture:
      return entry.capability == capability;
    case Feature::family:
      return entry.capability / 10 == capability / 10 && entry.capability <= capability;
  }
  return false;
}

/// Newer architectures first; within one architecture, the more specific code.
std::pair<std::uint32_t, int> rank(const Entry& entry) {
  constexpr int kSpecial[] = {0, 2, 1};
  return {entry.capability, kSpecial[static_cast<int>(entry.feature)]};
}

}  // namespace

const Entry* choose_ptx(const Container& container, std::uint32_t capability) {
  const Entry* best = nullptr;
  for (const Entry& entry : container.entries) {
    if (entry.kind != Kind::ptx || !runs_on(entry, capability)) continue;
    if (best == nullptr || rank(*best) < rank(entry)) best = &entry;
  }
  return best;
}

}  // namespace raddle::fatbin
