// Stands in for the Raddle system in a build without the JIT: says so, in the table too.
#include "system.h"

namespace bench {
Result<std::unique_ptr<System>> make_raddle_system(std::string_view, std::string_view, bool) {
  return Error::make(raddle::ErrorCode::not_found, "this build is without the JIT (RADDLE_JIT=OFF)");
}
}  // namespace bench
