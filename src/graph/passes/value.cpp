#include "raddle/graph/command.h"

namespace raddle::graph {

const TextureOf* Value::texture() const {
  const auto* texture = std::get_if<std::shared_ptr<const TextureOf>>(&what_);
  return texture == nullptr ? nullptr : texture->get();
}

const View* Value::view() const {
  if (const View* address = std::get_if<View>(&what_)) return address;
  if (const SurfaceOf* image = surface()) return &image->view;
  if (const TextureOf* image = texture()) return &image->view;
  return nullptr;
}

Value Value::with(const View& view) const {
  if (const TextureOf* image = texture()) return TextureOf{view, image->sampler};
  if (surface() != nullptr) return SurfaceOf{view};
  return view;
}

}  // namespace raddle::graph
