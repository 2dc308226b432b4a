// Static libraries: the members of an archive as `ar` writes it (System V and GNU).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace raddle::fatbin {

struct ArchiveMember {
  std::string name;
  std::string_view bytes;  ///< in the archive's
};

bool is_archive(std::string_view bytes);

/// All files in it, without the tables of symbols and of long names.
/// @errors invalid: malformed, with the offset
Result<std::vector<ArchiveMember>> read_archive(std::string_view bytes);

}  // namespace raddle::fatbin
