// Stands for the driver of a GPU, as far as target_test.cpp asks it: one device, whose answers no other
// device gives.
#include <cstdio>
#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int cuInit(unsigned) { return 0; }
EXPORTED int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
EXPORTED int cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<std::size_t>(length), "a GPU");
  return 0;
}
/// Nine arguments, so that some of them travel on the stack: answers their sum, with the stream's number.
EXPORTED int cuLaunchKernel(void* function, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
                            unsigned f, unsigned g, void* stream, void**, void**) {
  return static_cast<int>(reinterpret_cast<unsigned long>(function) + a + b + c + d + e + f + g +
                          reinterpret_cast<unsigned long>(stream));
}
EXPORTED int cuStreamQuery(void*) { return 600; }
EXPORTED int cuStreamQuery_ptsz(void*) { return 601; }
EXPORTED int cuGetProcAddress_v2(const char* symbol, void** function, int, unsigned long, int*) {
  *function = std::strcmp(symbol, "cuStreamQuery") == 0 ? reinterpret_cast<void*>(&cuStreamQuery) : nullptr;
  return 0;
}
