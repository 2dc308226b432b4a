// What the approximate functions of 16 bits give for all inputs, and those of f32 and f64 at the edges.
#include "probe.h"

#define FUNCTION(name, instruction)                                                                       \
  __global__ void name(unsigned short* out) {                                                             \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                                                  \
    asm volatile(instruction " %0, %1;" : "=h"(out[i]) : "h"(static_cast<unsigned short>(i)));            \
  }
FUNCTION(ex2_f16, "ex2.approx.f16")
FUNCTION(ex2_bf16, "ex2.approx.ftz.bf16")
FUNCTION(tanh_f16, "tanh.approx.f16")
FUNCTION(tanh_bf16, "tanh.approx.bf16")

#define EDGES(name, instruction)                                                               \
  __global__ void name(const unsigned* in, unsigned* out) {                                    \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                                       \
    asm volatile(instruction " %0, %1;" : "=r"(out[i]) : "r"(in[i]));                          \
  }
EDGES(e0, "ex2.approx.f32") EDGES(e1, "ex2.approx.ftz.f32") EDGES(e2, "lg2.approx.f32") EDGES(e3, "lg2.approx.ftz.f32")
EDGES(e4, "sin.approx.f32") EDGES(e5, "sin.approx.ftz.f32") EDGES(e6, "cos.approx.f32") EDGES(e7, "cos.approx.ftz.f32")
EDGES(e8, "rcp.approx.f32") EDGES(e9, "rcp.approx.ftz.f32") EDGES(e10, "sqrt.approx.f32") EDGES(e11, "sqrt.approx.ftz.f32")
EDGES(e12, "rsqrt.approx.f32") EDGES(e13, "rsqrt.approx.ftz.f32") EDGES(e14, "tanh.approx.f32")

int main() {
  unsigned short* out;
  NEEDED(cudaMalloc(&out, 131072));
  std::vector<unsigned short> values(65536);
  const struct { const char* name; void (*kernel)(unsigned short*); } functions[] = {
      {"ex2.f16", ex2_f16}, {"ex2.ftz.bf16", ex2_bf16}, {"tanh.f16", tanh_f16}, {"tanh.bf16", tanh_bf16}};
  for (const auto& f : functions) {
    f.kernel<<<256, 256>>>(out);
    NEEDED(cudaMemcpy(values.data(), out, 131072, cudaMemcpyDeviceToHost));
    std::printf("%s: ", f.name);
    print_hex(values.data(), 131072);
  }
  const struct { const char* name; void (*kernel)(const unsigned*, unsigned*); } edges[] = {
      {"ex2", e0}, {"ex2.ftz", e1}, {"lg2", e2}, {"lg2.ftz", e3}, {"sin", e4}, {"sin.ftz", e5}, {"cos", e6}, {"cos.ftz", e7},
      {"rcp", e8}, {"rcp.ftz", e9}, {"sqrt", e10}, {"sqrt.ftz", e11}, {"rsqrt", e12}, {"rsqrt.ftz", e13}, {"tanh", e14}};
  std::vector<unsigned> in;
  for (unsigned sign = 0; sign < 2; ++sign)
    for (unsigned exponent = 0; exponent < 256; ++exponent)
      for (const unsigned mantissa : {0u, 1u, 0x400000u, 0x7fffffu}) in.push_back(sign << 31 | exponent << 23 | mantissa);
  unsigned *from, *to;
  NEEDED(cudaMalloc(&from, 8192)); NEEDED(cudaMalloc(&to, 8192));
  NEEDED(cudaMemcpy(from, in.data(), 8192, cudaMemcpyHostToDevice));
  for (const auto& f : edges) {
    f.kernel<<<8, 256>>>(from, to);
    std::vector<unsigned> results(2048);
    NEEDED(cudaMemcpy(results.data(), to, 8192, cudaMemcpyDeviceToHost));
    std::printf("edges %s: ", f.name);
    print_hex(results.data(), 8192);
  }
}
