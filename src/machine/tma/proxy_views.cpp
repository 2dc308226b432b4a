#include "machine/tma/proxy_views.h"

#include <algorithm>
#include <cstring>

namespace raddle::machine {

namespace {
/// No number that programs are likely to hold, whichever type reads it.
constexpr std::byte kNothing{0xb7};
}  // namespace

ProxyViews::View* ProxyViews::find(const std::byte* memory) const {
  const auto found = std::ranges::find(views_, memory, [](const auto& view) { return view->memory; });
  return found == views_.end() ? nullptr : found->get();
}

void ProxyViews::begin(const std::byte* memory, std::size_t bytes) {
  View* view = find(nullptr);
  if (view == nullptr) view = views_.emplace_back(std::make_unique<View>()).get();
  view->memory = memory;
  constexpr std::size_t kLine = 128;  // within which a swizzle moves what is asked for
  view->bytes.assign((bytes + kLine - 1) / kLine * kLine, kNothing);
  view->before.assign(memory, memory + view->bytes.size());
  view->is_spoiled = false;
}

void ProxyViews::spoil(const std::byte* memory) {
  View* view = find(memory);
  if (view == nullptr) return;
  std::ranges::fill(view->bytes, kNothing);
  view->is_spoiled = true;
}

bool ProxyViews::is_spoiled(const std::byte* memory) const {
  const View* view = find(memory);
  return view != nullptr && view->is_spoiled;
}

void ProxyViews::end(const std::byte* memory) {
  if (View* view = find(memory)) view->memory = nullptr;
}

void ProxyViews::publish() {
  for (const auto& view : views_)
    if (view->memory != nullptr) std::memcpy(view->bytes.data(), view->memory, view->bytes.size());
}

/// Bytes that nobody has written in this CTA are not stale, whatever is there.
TmaMistake ProxyViews::staleness(const std::byte* memory, std::size_t offset, std::size_t bytes) const {
  const View* view = find(memory);
  if (view == nullptr) return TmaMistake::none;
  if (view->is_spoiled) return TmaMistake::exited;
  for (std::size_t i = offset; i < offset + bytes; ++i) {
    const bool is_untouched = view->bytes[i] == kNothing && memory[i] == view->before[i];
    if (view->bytes[i] != memory[i] && !is_untouched) return TmaMistake::unpublished;
  }
  return TmaMistake::none;
}

std::byte* ProxyViews::of(std::byte* memory) const {
  View* view = find(memory);
  return view == nullptr ? memory : view->bytes.data();
}

}  // namespace raddle::machine
