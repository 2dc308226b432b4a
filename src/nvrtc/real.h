// NVIDIA's own NVRTC, which the forwarder calls: found by path, for both libraries have one name.
#pragma once

#include <string>
#include <vector>

#include "nvrtc/abi.h"

namespace raddle::nvrtc {

/// NVRTC's functions; all nullptr where there is none.
struct Real {
#define FORWARD(name, parameters, arguments) nvrtcResult(*name) parameters = nullptr;
#define ENTRY FORWARD
#include "nvrtc/entries.def"
#undef ENTRY
#undef FORWARD
  const char* (*nvrtcGetErrorString)(nvrtcResult result) = nullptr;
  bool is_there = false;
};

/// Loaded at the first call; where there is none, stderr says once which paths were tried: RADDLE_NVRTC (only
/// this, if set), LD_LIBRARY_PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda.
const Real& real();

/// The files that are tried, in order; `own` is this library's folder, which is left out.
std::vector<std::string> candidates(const std::string& own);

}  // namespace raddle::nvrtc
