// What the approximate functions of f32 give: for each, a line of inputs and one of outputs for drawn bit patterns.
#include "probe.h"

namespace {

constexpr int kCount = 16384;

#define FUNCTION(name, instruction)                                                             \
  __global__ void name(const float* in, float* out) {                                           \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                                        \
    asm volatile(instruction ".f32 %0, %1;" : "=f"(out[i]) : "f"(in[i]));                       \
  }
FUNCTION(ex2, "ex2.approx")
FUNCTION(ex2_ftz, "ex2.approx.ftz")
FUNCTION(lg2, "lg2.approx")
FUNCTION(lg2_ftz, "lg2.approx.ftz")
FUNCTION(sine, "sin.approx")
FUNCTION(cosine, "cos.approx")
FUNCTION(reciprocal, "rcp.approx")
FUNCTION(reciprocal_ftz, "rcp.approx.ftz")
FUNCTION(square_root, "sqrt.approx")
FUNCTION(reciprocal_root, "rsqrt.approx")
FUNCTION(tangent, "tanh.approx")
#undef FUNCTION

struct Function {
  const char* name;
  void (*kernel)(const float*, float*);
  float low, high;  ///< where half of the draws lie; the other half are any bits
};

}  // namespace

int main() {
  const Function functions[] = {{"ex2", ex2, -20, 20},           {"ex2.ftz", ex2_ftz, -150, 130}, {"lg2", lg2, 0, 4},
                                {"lg2.ftz", lg2_ftz, 0, 4},       {"sin", sine, -7, 7},            {"cos", cosine, -7, 7},
                                {"rcp", reciprocal, 1, 2},        {"rcp.ftz", reciprocal_ftz, 1, 2}, {"sqrt", square_root, 1, 4},
                                {"rsqrt", reciprocal_root, 1, 4}, {"tanh", tangent, -5, 5}};
  float *in, *out;
  NEEDED(cudaMalloc(&in, kCount * sizeof(float)));
  NEEDED(cudaMalloc(&out, kCount * sizeof(float)));
  for (const Function& f : functions) {
    Draws draws(7);
    std::vector<float> values(kCount), results(kCount);
    for (int i = 0; i < kCount; ++i) {
      const auto bits = static_cast<std::uint32_t>(draws.word());
      if (i % 2 == 0)
        std::memcpy(&values[i], &bits, sizeof bits);
      else
        values[i] = f.low + (f.high - f.low) * static_cast<float>(bits >> 8) / 16777216.0f;
    }
    NEEDED(cudaMemcpy(in, values.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
    f.kernel<<<kCount / 256, 256>>>(in, out);
    NEEDED(cudaMemcpy(results.data(), out, kCount * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("%s: ", f.name);
    print_hex(results.data(), kCount * sizeof(float));
  }
}
