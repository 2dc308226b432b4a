// The device code of a program or library that was compiled by `raddle cc -rdc=true`: the constructors of all
// its files meet here, and the last one registers one module of all of them. Each library has its own.
#pragma once

#if defined(RADDLE_RELOCATABLE) && defined(__CUDACC__) && !defined(__CUDA_ARCH__)

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);

// One byte per file; the linker names begin and end.
extern const char __start_raddle_modules[] __attribute__((visibility("hidden")));
extern const char __stop_raddle_modules[] __attribute__((visibility("hidden")));
static const char raddle_module __attribute__((section("raddle_modules"), used, retain)) = 1;

/// Of the one module; null before all have registered.
__attribute__((weak, visibility("hidden"))) void** raddle_linked_handle = nullptr;

inline __attribute__((visibility("hidden"))) void raddle_unregister_linked() {
  __cudaUnregisterFatBinary(raddle_linked_handle);
}

/// Called by a file's constructor. @param globals  registers the file's kernels and variables
inline __attribute__((used, visibility("hidden"))) void raddle_register_linked(void (*globals)(void**),
                                                                               const void* wrapper,
                                                                               const void*,
                                                                               void (*)(void**)) {
  // As compilers lay it out for the runtime: version 2 has a list of containers, ended by a null pointer.
  struct Wrapper {
    unsigned int magic, version;
    const void* container;
    const void* const* containers;
  };
  static Wrapper all;
  static const void** containers;
  static void (**registrations)(void**);
  static unsigned long count;
  const unsigned long total = __stop_raddle_modules - __start_raddle_modules;
  if (count == 0) {
    containers = static_cast<const void**>(calloc(total + 1, sizeof *containers));
    registrations = static_cast<void (**)(void**)>(calloc(total, sizeof *registrations));
  }
  if (containers == nullptr || registrations == nullptr) abort();
  const Wrapper* own = static_cast<const Wrapper*>(wrapper);
  containers[count] = own->container;
  registrations[count] = globals;
  if (++count < total) return;
  all = {own->magic, 2, containers[0], containers};
  raddle_linked_handle = __cudaRegisterFatBinary(&all);
  for (unsigned long i = 0; i < total; ++i) registrations[i](raddle_linked_handle);
  __cudaRegisterFatBinaryEnd(raddle_linked_handle);
  atexit(raddle_unregister_linked);
}
}

#endif
