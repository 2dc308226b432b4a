// NVRTC's binary interface, as its manual declares it: run-time compilation of CUDA C++ to PTX.
#pragma once

#include <cstddef>

namespace raddle::nvrtc {

enum nvrtcResult : int { NVRTC_SUCCESS = 0, NVRTC_ERROR_INVALID_INPUT = 3, NVRTC_ERROR_INTERNAL_ERROR = 11 };

using nvrtcProgram = struct _nvrtcProgram*;
using nvrtcFlowCallback = int (*)(void* payload, void* reserved);

}  // namespace raddle::nvrtc
