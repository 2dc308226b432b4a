// The NaN that fills what lies out of a tensor's bounds, and fma.oob, for which a product with it is none: which pattern it is, what copies
// write for each type, and what triples of patterns give.
#include "probe.h"

#define FUNCTION(name, instruction)                                                                             \
  __global__ void name(const unsigned short* a, const unsigned short* b, const unsigned short* c,               \
                       unsigned short* out) {                                                                   \
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                                   \
    asm volatile(instruction " %0, %1, %2, %3;" : "=h"(out[i]) : "h"(a[i]), "h"(b[i]), "h"(c[i]));              \
  }
FUNCTION(halves, "fma.rn.oob.f16")
FUNCTION(halves_relu, "fma.rn.oob.relu.f16")
FUNCTION(brain, "fma.rn.oob.bf16")
FUNCTION(brain_relu, "fma.rn.oob.relu.bf16")

using Halves = std::vector<unsigned short>;
using Function = void (*)(const unsigned short*, const unsigned short*, const unsigned short*, unsigned short*);

Halves results(Function function, Halves a, Halves b, Halves c) {
  const std::size_t count = a.size(), padded = (count + 255) / 256 * 256;
  unsigned short* device[4];
  for (auto& place : device) NEEDED(cudaMalloc(&place, padded * 2));
  for (int i = 0; i < 3; ++i)
    NEEDED(cudaMemcpy(device[i], (i == 0 ? a : i == 1 ? b : c).data(), count * 2, cudaMemcpyHostToDevice));
  function<<<padded / 256, 256>>>(device[0], device[1], device[2], device[3]);
  Halves out(count);
  NEEDED(cudaMemcpy(out.data(), device[3], count * 2, cudaMemcpyDeviceToHost));
  for (auto& place : device) NEEDED(cudaFree(place));
  return out;
}

/// A box of 16 bytes that lies beyond the tensor in all elements but the first.
__global__ void load(const __grid_constant__ CUtensorMap map, unsigned char* out) {
  __shared__ alignas(128) unsigned char box[128];
  __shared__ alignas(8) unsigned long long barrier;
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(box)), at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.proxy.async;" ::"r"(at));
  asm volatile("{ .reg .b64 %%state; mbarrier.arrive.expect_tx.shared.b64 %%state, [%0], 16; }" ::"r"(at));
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(to), "l"(&map), "r"(0),
               "r"(at)
               : "memory");
  asm volatile("{ .reg .pred %%p; AGAIN: mbarrier.try_wait.parity.shared.b64 %%p, [%0], 0; @!%%p bra AGAIN; }" ::"r"(at) : "memory");
  for (int i = 0; i < 16; ++i) out[i] = box[i];
}

void fill(const char* name, CUtensorMapDataType type, unsigned bytes) {
  unsigned char *tensor, *out, from[16];
  NEEDED(cudaMalloc(&tensor, 64));
  NEEDED(cudaMalloc(&out, 16));
  NEEDED(cudaMemset(tensor, 0, 64));
  const cuuint64_t size = 1, stride = 64;
  const cuuint32_t box = 16 / bytes, step = 1;
  CUtensorMap map;
  const CUresult made = cuTensorMapEncodeTiled(&map, type, 1, tensor, &size, &stride, &box, &step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                               CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
  if (made != CUDA_SUCCESS) {
    std::printf("fill %s: refused, %d\n", name, made);
    return;
  }
  load<<<1, 1>>>(map, out);
  NEEDED(cudaMemcpy(from, out, 16, cudaMemcpyDeviceToHost));
  std::printf("fill %s: ", name);
  print_hex(from, 16);
}

void ask(const char* name, Function function, unsigned short one, unsigned short infinity) {
  Halves all(65536), ones(65536, one);
  for (unsigned i = 0; i < 65536; ++i) all[i] = static_cast<unsigned short>(i);
  const auto is_nan = [&](unsigned x) { return (x & 0x7fff) > infinity; };
  Halves special = {0xffff};
  for (const int place : {0, 1, 2}) {
    const Halves out = results(function, place == 0 ? all : ones, place == 1 ? all : ones, place == 2 ? all : ones);
    std::printf("fma.rn.oob.%s, NaN as operand %d that gives a number:", name, place);
    for (unsigned i = 0; i < 65536; ++i)
      if (is_nan(i) && !is_nan(out[i])) {
        std::printf(" %04x->%04x", i, out[i]);
        if (special.size() < 4) special.push_back(static_cast<unsigned short>(i));
      }
    std::printf("\n");
  }
  Halves patterns = {0x0000, 0x8000, 0x0001, 0x3c00, 0xbc00, 0x3f80, 0xbf80, 0x7bff, 0x7c00, 0xfc00, 0x7f80, 0xff80, 0x7fff, 0xfe00};
  patterns.insert(patterns.end(), special.begin(), special.end());
  Halves a, b, c;
  for (const auto x : patterns)
    for (const auto y : patterns)
      for (const auto z : patterns) a.push_back(x), b.push_back(y), c.push_back(z);
  const Halves out = results(function, a, b, c);
  for (std::size_t i = 0; i < out.size(); ++i) std::printf("%s %04x %04x %04x: %04x\n", name, a[i], b[i], c[i], out[i]);
}

int main() {
  NEEDED(cudaFree(nullptr));
  fill("f16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2);
  fill("bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2);
  fill("f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4);
  fill("f32 ftz", CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, 4);
  fill("tf32", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 4);
  fill("tf32 ftz", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ, 4);
  fill("f64", CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8);
  ask("f16", halves, 0x3c00, 0x7c00);
  ask("relu.f16", halves_relu, 0x3c00, 0x7c00);
  ask("bf16", brain, 0x3f80, 0x7f80);
  ask("relu.bf16", brain_relu, 0x3f80, 0x7f80);
}
