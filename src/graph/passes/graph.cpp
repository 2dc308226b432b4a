#include "raddle/graph/graph.h"

#include <atomic>

namespace raddle::graph {

std::uint64_t Graph::Identity::next() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Resource Graph::add(ResourceInfo info) {
  ++changes_;
  resources_.push_back(std::move(info));
  return {static_cast<std::uint32_t>(resources_.size() - 1)};
}

Resource Graph::buffer(std::string name, std::uint64_t bytes, Origin origin, SourceLine line) {
  return add({.name = std::move(name), .origin = origin, .bytes = bytes, .line = line});
}

Resource Graph::image(std::string name, const ImageShape& shape, Origin origin, SourceLine line) {
  return add({.name = std::move(name),
              .origin = origin,
              .is_image = true,
              .bytes = shape.bytes(),
              .shape = shape,
              .line = line});
}

Resource Graph::previous(Resource temporal) {
  if (const Resource known = resources_[temporal.index].previous) return known;
  ResourceInfo info = resources_[temporal.index];
  info.name += ".previous";
  info.following = temporal;
  const Resource previous = add(std::move(info));
  resources_[temporal.index].previous = previous;
  return previous;
}

Pass Graph::add(PassInfo pass) {
  ++changes_;
  passes_.push_back(std::move(pass));
  return {static_cast<std::uint32_t>(passes_.size() - 1)};
}

PassBuilder Graph::pass(std::string name, SourceLine line) {
  ++changes_;
  PassInfo& info = passes_.emplace_back();
  info.name = std::move(name);
  info.line = line;
  return {*this, {static_cast<std::uint32_t>(passes_.size() - 1)}};
}

void Graph::order(Pass earlier, Pass later) {
  ++changes_;
  orders_.emplace_back(earlier, later);
}

Pass Graph::synchronise(SourceLine line) { return pass("synchronise", line).synchronise(); }

Resource Graph::find(std::string_view name) const {
  for (std::uint32_t i = 0; i < resources_.size(); ++i)
    if (resources_[i].name == name) return {i};
  return {};
}

void Graph::reserve(std::size_t passes, std::size_t resources) {
  passes_.reserve(passes);
  resources_.reserve(resources);
}

}  // namespace raddle::graph
