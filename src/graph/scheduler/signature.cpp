#include "graph/scheduler/signature.h"

#include <bit>

namespace raddle::graph {
namespace {

/// 64 bits, each number mixed in by a multiplication.
class Mixer {
 public:
  void add(std::uint64_t number) {
    value_ = (value_ ^ number) * 0x9e3779b97f4a7c15;
    value_ = std::rotl(value_, 29) ^ (value_ >> 32);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 1;
};

void add(Mixer& mixer, const ResourceInfo& info) {
  mixer.add(info.bytes << 8 | static_cast<unsigned>(info.origin) << 1 | (info.is_image ? 1u : 0u));
  mixer.add(std::uint64_t{info.following.index} << 32 | info.previous.index);
  if (!info.is_image) return;
  const ImageShape& shape = info.shape;
  mixer.add(std::uint64_t{shape.width} << 32 | shape.height);
  mixer.add(std::uint64_t{shape.depth} << 32 | shape.layers);
  mixer.add(std::uint64_t{shape.mips} << 32 | static_cast<unsigned>(shape.format.type) << 8 |
            shape.format.channels);
}

void add(Mixer& mixer, const Access& access) {
  const View& view = access.view;
  mixer.add(view.resource.index);
  mixer.add(view.begin);
  mixer.add(view.bytes);
  mixer.add(std::uint64_t{view.mip} << 32 | view.mips);
  mixer.add(std::uint64_t{view.layer} << 32 | view.layers);
  mixer.add((access.reads ? 1u : 0u) | (access.writes ? 2u : 0u) | (access.discards ? 4u : 0u) |
            (access.unordered ? 8u : 0u) | (access.changes_layout ? 16u : 0u) |
            static_cast<unsigned>(access.makes_visible) << 8 | static_cast<unsigned>(access.unit) << 16 |
            static_cast<unsigned>(access.layout) << 24);
}

}  // namespace

std::uint64_t signature_of(const Graph& graph) {
  Mixer mixer;
  mixer.add(static_cast<unsigned>(graph.order()));
  mixer.add(graph.resources().size());
  for (const ResourceInfo& info : graph.resources()) add(mixer, info);
  for (const PassInfo& pass : graph.passes()) {
    mixer.add(pass.accesses.size() << 32 | pass.commands.size());
    for (const Command& command : pass.commands) mixer.add(command.index());
    for (const Access& access : pass.accesses) add(mixer, access);
  }
  for (const auto& [earlier, later] : graph.orders())
    mixer.add(std::uint64_t{earlier.index} << 32 | later.index);
  return mixer.value();
}

}  // namespace raddle::graph
