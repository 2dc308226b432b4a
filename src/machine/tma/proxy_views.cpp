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
}

void ProxyViews::spoil(const std::byte* memory) {
  if (View* view = find(memory)) std::ranges::fill(view->bytes, kNothing);
}

void ProxyViews::end(const std::byte* memory) {
  if (View* view = find(memory)) view->memory = nullptr;
}

void ProxyViews::publish() {
  for (const auto& view : views_)
    if (view->memory != nullptr) std::memcpy(view->bytes.data(), view->memory, view->bytes.size());
}

std::byte* ProxyViews::of(std::byte* memory) const {
  View* view = find(memory);
  return view == nullptr ? memory : view->bytes.data();
}

}  // namespace raddle::machine
