#include "base/result.h"

namespace raddle {

std::string Error::to_string() const {
  if (where.line == 0) return where.file.empty() ? message : fmt::format("{}: {}", where.file, message);
  const std::string place = fmt::format("{}:{}", where.file.empty() ? "<ptx>" : where.file, where.line);
  return where.column == 0 ? fmt::format("{}: {}", place, message)
                           : fmt::format("{}:{}: {}", place, where.column, message);
}

}  // namespace raddle
