// NVIDIA's own NVRTC, which the forwarder calls: found by path, for both libraries have one name.
#pragma once

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

/// Loaded at the first call; where there is none, stderr says once which paths were tried.
const Real& real();

}  // namespace raddle::nvrtc
