// Names of what graphs are made of, as messages and views show them.
#include "raddle/graph/graph.h"

namespace raddle::graph {

const char* unit_name(Unit unit) {
  constexpr const char* kUnits[] = {"kernels", "textures", "draws", "copies", "host"};
  return kUnits[static_cast<unsigned>(unit)];
}

const char* layout_name(Layout layout) {
  constexpr const char* kLayouts[] = {"undefined", "general", "sampled", "target", "copy"};
  return kLayouts[static_cast<unsigned>(layout)];
}

Layout layout_of(Unit unit) {
  switch (unit) {
    case Unit::texture:
      return Layout::sampled;
    case Unit::draw:
      return Layout::target;
    case Unit::copy:
      return Layout::copy;
    default:
      return Layout::general;
  }
}

const char* need_name(unsigned kind) {
  constexpr const char* kNeeds[] = {"SM slots",  "registers",    "shared memory",
                                    "bandwidth", "copy engines", "host"};
  return kNeeds[kind];
}

const char* command_name(const Command& command) {
  constexpr const char* kCommands[] = {"dispatch", "draw",          "copy",     "clear",
                                       "fill",     "layout change", "cache",    "synchronise",
                                       "call",     "body",          "sub-graph"};
  static_assert(std::size(kCommands) == std::variant_size_v<Command>);
  return kCommands[command.index()];
}

}  // namespace raddle::graph
