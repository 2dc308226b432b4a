#include "cli/nvcc_removed.h"

#include <fmt/format.h>

namespace raddle::cli {
namespace {

enum class RemovedKind { identifier, property, template_, header, conversion, architecture };

struct Removed {
  RemovedKind kind;
  std::string_view name, replacement;
};

constexpr Removed kRemoved[] = {
#define REMOVED(how, name, replacement) {kind_##how, #name, replacement},
#define kind_identifier RemovedKind::identifier
#define kind_property RemovedKind::property
#define kind_template RemovedKind::template_
#define kind_header RemovedKind::header
#define kind_conversion RemovedKind::conversion
#define kind_architecture RemovedKind::architecture
#include "cli/nvcc_removed.def"
#undef kind_identifier
#undef kind_property
#undef kind_template
#undef kind_header
#undef kind_conversion
#undef kind_architecture
#undef REMOVED
};

/// What nvcc says about it.
std::string complaint_about(const Removed& removed) {
  switch (removed.kind) {
    case RemovedKind::identifier:
      return fmt::format("error: identifier \"{}\" is undefined", removed.name);
    case RemovedKind::property:
      return fmt::format("error: class \"cudaDeviceProp\" has no member \"{}\"", removed.name);
    case RemovedKind::template_:
      return fmt::format("error: {} is not a template", removed.name);
    case RemovedKind::header:
      return fmt::format("fatal error: {}: No such file or directory", removed.name);
    case RemovedKind::conversion:
      return fmt::format("error: no suitable constructor exists to convert from \"int\" to \"{}\"",
                         removed.name);
    case RemovedKind::architecture:
      return fmt::format("Unsupported gpu architecture '{}'", removed.name);
  }
  return {};
}

}  // namespace

std::vector<std::string> removed_things(std::string_view messages) {
  std::vector<std::string> lines;
  for (const Removed& removed : kRemoved) {
    if (messages.find(complaint_about(removed)) == std::string_view::npos) continue;
    const bool is_argument = removed.kind == RemovedKind::conversion;
    lines.push_back(fmt::format("raddle nvcc: {}{} is not in CUDA toolkit 13 any more; instead: {}",
                                is_argument ? "a number as " : "", removed.name, removed.replacement));
  }
  return lines;
}

}  // namespace raddle::cli
