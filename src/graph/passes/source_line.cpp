#include "raddle/graph/source_line.h"

#include <mutex>
#include <unordered_set>

namespace raddle::graph {

SourceLine::SourceLine(std::string_view file_name, std::uint32_t number) : line(number) {
  static std::mutex mutex;
  static auto& names = *new std::unordered_set<std::string>;  // for good: graphs may outlive everything
  std::lock_guard lock(mutex);
  file = names.emplace(file_name).first->c_str();
}

std::string SourceLine::text() const { return fmt::format("{}:{}", file, line); }

}  // namespace raddle::graph
