// How Raddle's errors and faults appear in the driver API.
#pragma once

#include "driver/objects.h"
#include "driver/status.h"

namespace raddle::driver {

const char* result_name(
    CUresult result);  ///< "CUDA_ERROR_INVALID_VALUE"; nullptr for numbers that mean nothing
const char* result_text(CUresult result);

/// The sticky error; the first time it also reports the fault on stderr. CUDA_SUCCESS if there is none.
Status sticky_result(Context& context);
/// For a call that waited for a context's work: another thread may have destroyed the context meanwhile.
Status result_after_wait(Context& context);

}  // namespace raddle::driver
