// Initialisation, errors, and the table that is never there.
#include <dlfcn.h>
#include <execinfo.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/notice.h"
#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"
#include "fatbin/nvidia_runtime.h"

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

/// The file of the program or library that called into this one; empty if it cannot be told.
std::string calling_object() {
  constexpr int kMostFrames = 16;
  void* frames[kMostFrames];
  Dl_info own, caller;
  if (dladdr(reinterpret_cast<void*>(&calling_object), &own) == 0) return {};
  const int count = backtrace(frames, kMostFrames);
  for (int i = 0; i < count; ++i)
    if (dladdr(frames[i], &caller) != 0 && caller.dli_fbase != own.dli_fbase) {
      std::error_code error;
      return std::filesystem::canonical(caller.dli_fname, error).string();
    }
  return {};
}

/// Once, if the file holds it.
void tell_of_nvidia_runtime(const std::string& path) {
  static std::atomic<bool> said{false};
  const Result<std::string> bytes = read_file(path);
  if (!bytes) return;
  const Result<fatbin::ElfFile> file = fatbin::ElfFile::open(*bytes);
  if (!file || !fatbin::holds_nvidia_runtime(*file) || said.exchange(true)) return;
  base::notice(
      "raddle: {} contains NVIDIA's CUDA runtime, which runs on NVIDIA's driver only; compile it with "
      "`nvcc -cudart shared`, or link it again by `raddle nvcc` (docs/programs.md)\n",
      path);
}
}  // namespace

Status cuGetErrorString(CUresult error, const char** text) { return give_text(result_text(error), text); }
Status cuGetErrorName(CUresult error, const char** text) { return give_text(result_name(error), text); }

// NVIDIA's own runtime asks for such tables to make sure of NVIDIA's driver. Raddle has none, by decision:
// programs link Raddle's runtime instead. Other libraries of NVIDIA's ask for them and do without.
Status cuGetExportTable(const void** table, const CUuuid*) {
  *table = nullptr;
  tell_of_nvidia_runtime(calling_object());
  return CUDA_ERROR_NOT_FOUND;
}

}  // namespace raddle::driver::entry
