// Stands in for the OpenCL system where OpenCL was not found at configure time: says so, in the table too.
#include "system.h"

namespace bench {
Result<std::unique_ptr<System>> make_pocl_system() {
  return Error::make(raddle::ErrorCode::not_found,
                     "built without OpenCL (Debian: ocl-icd-opencl-dev, pocl-opencl-icd)");
}
}  // namespace bench
