#include "base/result.h"

namespace raddle {

std::string Error::to_string() const {
  if (where.line == 0) return where.file.empty() ? message : fmt::format("{}: {}", where.file, message);
  return fmt::format("{}:{}:{}: {}", where.file.empty() ? "<ptx>" : where.file, where.line, where.column, message);
}

}  // namespace raddle
