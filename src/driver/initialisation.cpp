// Initialisation, errors, and the table that is never there.
#include <cstdio>

#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {

Status cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return Process::instance().initialise();
}

Status cuDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

namespace {
Status give_text(const char* found, const char** text) {
  *text = found;
  return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
}  // namespace

Status cuGetErrorString(CUresult error, const char** text) { return give_text(result_text(error), text); }
Status cuGetErrorName(CUresult error, const char** text) { return give_text(result_name(error), text); }

// NVIDIA's own runtime asks for such tables to make sure of NVIDIA's driver. Raddle has none, by decision:
// programs link Raddle's runtime instead.
Status cuGetExportTable(const void** table, const CUuuid*) {
  *table = nullptr;
  static std::atomic<bool> said{false};
  if (!said.exchange(true))
    std::fputs(
        "raddle: this program contains NVIDIA's CUDA runtime, which runs on NVIDIA's driver only; compile it "
        "with "
        "`nvcc -cudart shared`, or link it again by `raddle nvcc` (docs/programs.md)\n",
        stderr);
  return CUDA_ERROR_NOT_FOUND;
}

}  // namespace raddle::driver::entry
