// The smallest complete program: load PTX, launch a kernel, read the result.
#include <cstdio>

#include "raddle/raddle.h"

raddle::Result<float> add_on_device() {
  TRY_ASSIGN(auto device, raddle::Device::open());
  TRY_ASSIGN(auto module, device.load_file(RADDLE_EXAMPLES_DIR "/kernels/vector_add.ptx"));
  TRY_ASSIGN(auto kernel, module.kernel("vector_add"));
  std::vector<float> a(1000, 1.0f), b(1000, 2.0f), c(1000);
  TRY_ASSIGN(auto device_a, device.buffer(a));
  TRY_ASSIGN(auto device_b, device.buffer(b));
  TRY_ASSIGN(auto device_c, device.buffer<float>(c.size()));
  TRY_ASSIGN(auto launch, kernel.launch({.grid = {4}, .block = {256}}, device_a, device_b, device_c, 1000));
  TRY(launch.wait());
  TRY(device_c.read(c));
  return c[999];
}

int main() {
  raddle::Result<float> sum = add_on_device();
  if (!sum.ok()) return std::fprintf(stderr, "%s\n", sum.error().to_string().c_str()), 1;
  std::printf("1 + 2 = %g\n", *sum);
  return *sum == 3.0f ? 0 : 1;
}
