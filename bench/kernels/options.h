// The command line of bench_kernels.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "parameters.h"

namespace bench {

struct Options {
  bool quick = false;
  bool widths = false;  ///< Raddle and OpenMP at each width of vectors
  int runs = 7;
  std::string json;     ///< file to write; empty: none
  std::string against;  ///< results to compare with; empty: none
  double factor = 0.8;  ///< of a share in those results, that is still well
  std::vector<std::string> systems;
  std::vector<Kernel> kernels;  ///< all unless some are named
};

/// Sets core_count() too.
/// @errors invalid: an option that there is not, one without its value, or a value that it cannot have
raddle::Result<Options> parse_options(int argc, char** argv);

}  // namespace bench
