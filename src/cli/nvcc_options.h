// nvcc's options that decide whether its output holds PTX: only PTX runs on Raddle.
#pragma once

#include <string>
#include <vector>

namespace raddle::cli {

struct NvccOptions {
  std::vector<std::string> words;
  std::vector<std::string> warnings;
  std::string
      cubin;  ///< of -cubin: the file of PTX that nvcc writes, to become a cubin; empty: not asked for
};

/// nvcc's words with PTX added where they ask for machine code only: -gencode arch=compute_90,code=sm_90 and
/// -arch=compute_90 -code=sm_90. Warns where none can be added (-cubin) or where it is for newer devices
/// (-arch=all).
NvccOptions with_ptx(const std::vector<std::string>& words);

}  // namespace raddle::cli
