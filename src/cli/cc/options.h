// The command line of `raddle cc`: nvcc's options, translated for clang.
#pragma once

#include <string>

#include "cli/cc/process.h"

namespace raddle::cli {

enum class CcGoal { program, object, ptx, device_link, library };

struct CcOptions {
  CcGoal goal = CcGoal::program;
  std::string output;                ///< empty: named after the input, or a.out
  Words sources, cuda_sources;       ///< C and C++; CUDA C++
  Words link_inputs;                 ///< objects, archives, -l, -L, -Wl: in their order
  Words both;                        ///< for host and device: -I, -D, -std, warnings
  Words host;                        ///< for the host's compiler alone, and its linker
  std::string architecture = "90";   ///< "90a" of sm_90a
  std::string optimisation = "-O3";  ///< of device code; also of the host's if it was given
  bool optimisation_given = false;
  bool line_info = false, debug = false, fast_math = false, flush_denormals = false, contract = true;
  bool relocatable = false;  ///< device code that other files' code may use: -rdc=true
  bool static_runtime = false, show_commands = false, keep = false, help = false;
};

/// @errors invalid: an option that is not known or lacks its value; unsupported: one of nvcc's that Raddle
/// does not have
Result<CcOptions> read_cc_options(const Words& arguments);

}  // namespace raddle::cli
