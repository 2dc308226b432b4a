// What the runtime knows of the calling thread: its device, its last error, launches that wait for their
// kernel; and how it gets a context.
#pragma once

#include "cudart/driver.h"

namespace raddle::cudart {

struct LaunchShape {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};

struct Thread {
  int device = 0;       ///< of cudaSetDevice; a current context overrides it
  unsigned resets = 0;  ///< that it has seen
  bool null_is_per_thread = false;
  cudaError_t last_error = cudaSuccess;
  LaunchShape launches[8] = {};  ///< <<<...>>> whose stubs have not run yet
  unsigned launch_count = 0;
};

/// Plain values only: programs call from the destructors of static objects, when a thread's other objects
/// are gone.
Thread& thread();

/// While it lives, no stream means the thread's own.
struct PerThreadStreams {
  PerThreadStreams() { thread().null_is_per_thread = true; }
  ~PerThreadStreams() { thread().null_is_per_thread = false; }
};

/// Loads the driver and makes sure that a context is current: the one that the program chose by the driver
/// API, else the primary context of the thread's device. Every call that works in a context begins with it.
cudaError_t prepare();

/// The current context. @errors as prepare()
cudaError_t prepare(CUcontext& context);

/// The primary context of a device, kept until the device is reset. cudaErrorInvalidDevice
cudaError_t primary_context(int device, CUcontext& context);

/// Makes the primary context of a device current. cudaErrorInvalidDevice
cudaError_t use_device(int device);

/// The device of the current context, or the one that would be used. @errors as load_driver()
cudaError_t current_device(int& device);

/// cudaDeviceReset: ends the primary context of the device, for all threads.
cudaError_t reset_device(int device);

}  // namespace raddle::cudart
