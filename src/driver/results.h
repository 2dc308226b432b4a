// How Raddle's errors and faults appear in the driver API.
#pragma once

#include "base/result.h"
#include "driver/abi.h"
#include "driver/objects.h"

namespace raddle::driver {

const char* result_name(
    CUresult result);  ///< "CUDA_ERROR_INVALID_VALUE"; nullptr for numbers that mean nothing
const char* result_text(CUresult result);

/// For errors of a call; says the error's text on stderr when RADDLE_TRACE asks for the API.
CUresult result_of(const Error& error);
/// The sticky error; the first time it also reports the fault on stderr. CUDA_SUCCESS if there is none.
CUresult sticky_result(Context& context);
/// Of a call that waited for a context's work: another thread may have destroyed the context meanwhile.
CUresult result_after_wait(Context& context);

}  // namespace raddle::driver
