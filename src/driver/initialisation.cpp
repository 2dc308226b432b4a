// Initialisation, errors, and the table that is never there.
#include <cstdio>

#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {

CUresult cuInit(unsigned flags) {
  return flags != 0 ? CUDA_ERROR_INVALID_VALUE : Process::instance().initialise();
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

namespace {
CUresult give_text(const char* found, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = found;
  return found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
}  // namespace

CUresult cuGetErrorString(CUresult error, const char** text) { return give_text(result_text(error), text); }
CUresult cuGetErrorName(CUresult error, const char** text) { return give_text(result_name(error), text); }

// NVIDIA's own runtime asks for such tables to make sure of NVIDIA's driver. Raddle has none, by decision:
// programs link Raddle's runtime instead.
CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
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
