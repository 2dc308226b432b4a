// The command line of ptxas, as nvcc and other compilers write it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace raddle::cli {

struct PtxasOptions {
  std::vector<std::string> files;
  std::vector<std::string> texts;  ///< --input-as-string
  std::string output = "elf.o";
  std::uint32_t capability = 75;  ///< of -arch
  std::string architecture = "sm_75";
  std::uint32_t max_registers = 0;   ///< -maxrregcount; 0: no limit
  std::vector<std::string> unknown;  ///< options that ptxas 13 does not name: it may be a newer one's
  bool only_check = false;           ///< a virtual architecture: no output
  bool verbose = false, version = false, help = false, no_warnings = false, warnings_are_errors = false;
};

/// Options that tune the code of a real GPU are accepted and have no effect.
/// @errors invalid: an option without its value
Result<PtxasOptions> parse_ptxas(const std::vector<std::string>& words);

}  // namespace raddle::cli
