#include "unit/source_directory.h"

namespace raddle {

std::string source_directory() { return RADDLE_SOURCE_DIR; }

}  // namespace raddle
