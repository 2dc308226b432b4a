// Doubles four numbers, by the public headers alone.
#include <raddle/raddle.h>

#include <cstdio>

constexpr const char* kDouble = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry twice(.param .u64 to) {
  .reg .u64 %to, %at; .reg .u32 %i, %x;
  ld.param.u64 %to, [to];
  mov.u32 %i, %tid.x;
  mad.wide.u32 %at, %i, 4, %to;
  ld.global.u32 %x, [%at];
  shl.b32 %x, %x, 1;
  st.global.u32 [%at], %x;
  ret;
}
)";

int main() {
  raddle::Result<raddle::Device> device = raddle::Device::open({.shape = "tiny"});
  raddle::Result<raddle::Module> module = device->load(kDouble);
  if (!module) return std::puts(module.error().to_string().c_str()), 1;
  raddle::Result<raddle::Kernel> kernel = module->kernel("twice");
  std::vector<unsigned> numbers{1, 2, 3, 4};
  raddle::Result<raddle::Buffer<unsigned>> buffer = device->buffer(numbers);
  raddle::Result<raddle::Launch> launch = kernel->launch({.grid = {1}, .block = {4}}, *buffer);
  if (!launch || !launch->wait() || !buffer->read(numbers)) return 1;
  std::printf("%u %u %u %u\n", numbers[0], numbers[1], numbers[2], numbers[3]);
}
