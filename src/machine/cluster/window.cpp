// Reservation and commitment, as for the window of a block without cluster (machine/memory/block_memory.cpp).
#include "machine/cluster/window.h"

#include <sys/mman.h>

#include "base/page.h"
#include "machine/memory/device_space.h"

namespace raddle::machine {
namespace {
constexpr std::uint64_t kAlignment = exec::kMaxClusterSize * exec::kSharedWindow;
constexpr std::uint64_t kReserved = exec::kSharedReach + kAlignment + exec::kSharedReach;
}  // namespace

SharedWindow::~SharedWindow() {
  if (map_ != nullptr) DeviceSpace::instance().give_back(map_, kReserved);
}

bool SharedWindow::reserve() {
  if (map_ != nullptr) return true;
  map_ = DeviceSpace::instance().take(kReserved);
  if (map_ == nullptr) return false;
  const auto first = reinterpret_cast<std::uint64_t>(map_) + exec::kSharedReach;
  base_ = map_ + exec::kSharedReach + (round_up(first, kAlignment) - first);
  return true;
}

bool SharedWindow::require(std::uint32_t ranks, std::uint64_t bytes) {
  if (!reserve()) return false;
  bytes = whole_pages(bytes);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (bytes <= committed_[rank]) continue;
    if (mprotect(base_ + rank * exec::kSharedWindow, bytes, PROT_READ | PROT_WRITE) != 0) return false;
    committed_[rank] = bytes;
  }
  return true;
}

void SharedWindow::hand_to(std::uint64_t space) {
  if (space == space_) return;
  space_ = space;
  if (map_ == nullptr) return;
  for (std::uint32_t rank = 0; rank < exec::kMaxClusterSize; ++rank)
    DeviceSpace::clear(base_ + rank * exec::kSharedWindow, committed_[rank]);
}

bool SharedWindow::covers(std::uint64_t address) const {
  const auto base = reinterpret_cast<std::uint64_t>(base_);
  return base_ != nullptr && address - (base - exec::kSharedReach) < 2 * exec::kSharedReach;
}

std::unique_ptr<SharedWindow> WindowPool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique<SharedWindow>();
  auto window = std::move(free_.back());
  free_.pop_back();
  return window;
}

void WindowPool::put(std::unique_ptr<SharedWindow> window) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(window));
}

}  // namespace raddle::machine
