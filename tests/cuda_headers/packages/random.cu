// cuRAND's generators by `raddle cc`. The lines that begin with '#' are what nvcc's program must print, too.
#include <curand_kernel.h>

#include "check.h"

constexpr int kThreads = 64, kDraws = 8;

template <typename State>
__device__ void draw(State& state, unsigned* bits, float* numbers) {
  for (int i = 0; i < kDraws; ++i) bits[i] = curand(&state);
  numbers[0] = curand_uniform(&state);
  numbers[1] = (float)curand_uniform_double(&state);
  numbers[2] = curand_normal(&state);
  numbers[3] = curand_log_normal(&state, 0.5f, 0.25f);
}

template <typename State>
__global__ void generate(unsigned* bits, float* numbers) {
  State state;
  const int i = threadIdx.x;
  curand_init(1234ull, i, i * 7, &state);
  draw(state, bits + i * kDraws, numbers + i * 4);
}

/// Dimension 0 of Sobol's sequence, whose direction vectors are single bits.
__global__ void generate_sobol(unsigned* bits, float* numbers) {
  unsigned vectors[32];
  for (int i = 0; i < 32; ++i) vectors[i] = 1u << (31 - i);
  curandStateSobol32_t state;
  curand_init(vectors, threadIdx.x, &state);
  draw(state, bits + threadIdx.x * kDraws, numbers + threadIdx.x * 4);
}

__global__ void philox(uint4* four, unsigned* poisson) {
  curandStatePhilox4_32_10_t state;
  curand_init(0ull, 0, 0, &state);
  *four = curand4(&state);
  for (int i = 0; i < 1000; ++i) poisson[i] = curand_poisson(&state, 4.0);
}

static std::vector<unsigned> show(const char* name, void (*kernel)(unsigned*, float*)) {
  Buffer<unsigned> bits(kThreads * kDraws);
  Buffer<float> numbers(kThreads * 4);
  kernel<<<1, kThreads>>>(bits.get(), numbers.get());
  const std::vector<unsigned> drawn = bits.contents();
  const std::vector<float> values = numbers.contents();
  for (int i = 0; i < kThreads; i += 9) {
    std::printf("# %s %d:", name, i);
    for (int j = 0; j < kDraws; ++j) std::printf(" %08x", drawn[i * kDraws + j]);
    for (int j = 0; j < 4; ++j) std::printf(" %.4f", values[i * 4 + j]);
    std::printf("\n");
  }
  double mean = 0;
  for (unsigned each : drawn) mean += each / 4294967296.0 / drawn.size();
  check(mean > 0.45 && mean < 0.55, name, "the mean");
  return drawn;
}

int main() {
  show("XORWOW", generate<curandStateXORWOW_t>);
  show("Philox", generate<curandStatePhilox4_32_10_t>);
  show("MRG32k3a", generate<curandStateMRG32k3a_t>);
  const std::vector<unsigned> sobol = show("Sobol", generate_sobol);
  bool good = true;
  for (int i = 0; i < kDraws; ++i) {  // number n is the Gray code of n, its bits from the left
    unsigned expected = 0;
    for (int bit = 0; bit < 32; ++bit) expected |= (((unsigned)i ^ (unsigned)i >> 1) >> bit & 1) << (31 - bit);
    good = good && sobol[i] == expected;
  }
  check(good, "Sobol's first numbers");
  Buffer<uint4> four(1);
  Buffer<unsigned> poisson(1000);
  philox<<<1, 1>>>(four.get(), poisson.get());
  const uint4 first = four.contents()[0];
  // Salmon et al., "Parallel random numbers: as easy as 1, 2, 3": key and counter zero.
  check(first.x == 0x6627e8d5 && first.y == 0xe169c58d && first.z == 0xbc57ac4c && first.w == 0x9b00dbd8, "Philox's known answer");
  double mean = 0;
  for (unsigned each : poisson.contents()) mean += each / 1000.0;
  check(mean > 3.7 && mean < 4.3, "Poisson's mean");
  std::printf("# Poisson %.3f\n", mean);
  return finish();
}
