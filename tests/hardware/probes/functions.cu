// What a module's functions need and how many of their blocks fit: for every kernel of the PTX files named in the arguments, its
// attributes, and the blocks of several sizes that an SM holds.
#include <fstream>
#include <sstream>

#include "probe.h"

namespace {

void print(const char* file, CUfunction function) {
  const char* name = nullptr;
  cuFuncGetName(&name, function);
  std::printf("%s %s:", file, name);
  for (const CUfunction_attribute attribute : {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                                               CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, CU_FUNC_ATTRIBUTE_NUM_REGS}) {
    int value = 0;
    cuFuncGetAttribute(&value, attribute, function);
    std::printf(" %d", value);
  }
  std::printf(" blocks");
  for (const int threads : {32, 64, 96, 128, 192, 256, 384, 512, 768, 1024}) {
    int blocks = 0;
    const CUresult result = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, 4096);
    std::printf(" %d", result == CUDA_SUCCESS ? blocks : -static_cast<int>(result));
  }
  int grid = 0, block = 0;
  cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 0);
  std::printf(" best %d %d\n", grid, block);
}

}  // namespace

int main(int argc, char** argv) {
  NEEDED(cudaFree(nullptr));
  for (int i = 1; i < argc; ++i) {
    std::ifstream stream(argv[i]);
    std::stringstream text;
    text << stream.rdbuf();
    const char* file = std::strrchr(argv[i], '/') != nullptr ? std::strrchr(argv[i], '/') + 1 : argv[i];
    CUmodule module = nullptr;
    if (const CUresult result = cuModuleLoadData(&module, text.str().c_str()); result != CUDA_SUCCESS) {
      std::printf("%s: error %d\n", file, result);
      continue;
    }
    unsigned count = 0;
    cuModuleGetFunctionCount(&count, module);
    std::vector<CUfunction> functions(count);
    cuModuleEnumerateFunctions(functions.data(), count, module);
    for (const CUfunction function : functions) print(file, function);
    cuModuleUnload(module);
  }
}
