// The CUDA driver, from which all that NVML says of devices comes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace raddle::nvml {

struct Driver {
  int (*init)(unsigned);
  int (*version)(int*);
  int (*count)(int*);
  int (*name)(char*, int, int);
  int (*uuid)(unsigned char*, int);
  int (*bus_id)(char*, int, int);
  int (*attribute)(int*, int, int);
  int (*retain)(void**, int);
  int (*release)(int);
  int (*push)(void*);
  int (*pop)(void**);
  int (*memory)(std::size_t*, std::size_t*);

  /// libcuda.so.1, initialised; null: there is none, or it has no device.
  static const Driver* load();
};

}  // namespace raddle::nvml
