// What cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col make of drawn arguments, good and bad: the result, and the 128 bytes.
#include "probe.h"

namespace {

constexpr int kTypeBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

struct Shape {
  CUtensorMapDataType type;
  cuuint32_t rank, box[5], steps[5];
  cuuint64_t sizes[5], strides[4];
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
  std::uint64_t address;
};

/// Mostly legal: about one in ten breaks a rule of the manual.
Shape draw(Draws& draws) {
  Shape s{};
  s.type = static_cast<CUtensorMapDataType>(draws.below(13));
  s.rank = static_cast<cuuint32_t>(1 + draws.below(5));
  s.interleave = draws.once_in(8) ? static_cast<CUtensorMapInterleave>(1 + draws.below(2)) : CU_TENSOR_MAP_INTERLEAVE_NONE;
  if (s.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && s.rank < 3 && !draws.once_in(4)) s.rank = 3;
  s.swizzle = static_cast<CUtensorMapSwizzle>(draws.below(4));
  s.promotion = static_cast<CUtensorMapL2promotion>(draws.below(4));
  s.fill = draws.once_in(4) ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  const int bytes = kTypeBytes[s.type];
  const std::uint64_t unit = s.interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
  s.address = (0x7f0000000000u + draws.below(1u << 20) * unit);
  if (draws.once_in(40)) s.address += 8;
  std::uint64_t pitch = 0;
  for (cuuint32_t d = 0; d < s.rank; ++d) {
    s.sizes[d] = 1 + draws.below(d == 0 ? 4096 : 300);
    if (draws.once_in(30)) s.sizes[d] = draws.one_of({0ull, 1ull << 32, (1ull << 32) + 1, (1ull << 32) - 1});
    s.box[d] = static_cast<cuuint32_t>(1 + draws.below(d == 0 ? 64 : 16));
    if (d == 0 && !draws.once_in(10)) {  // a whole number of 16 bytes, within the swizzle's span
      const cuuint32_t step = 16 / bytes, span = s.swizzle == 0 ? 256 : (16u << s.swizzle) / bytes;
      s.box[0] = step * (1 + static_cast<cuuint32_t>(draws.below(span / step == 0 ? 1 : span / step)));
    }
    if (draws.once_in(60)) s.box[d] = draws.one_of({0u, 256u, 257u});
    s.steps[d] = draws.once_in(6) ? static_cast<cuuint32_t>(draws.below(10)) : 1;
    pitch = d == 0 ? s.sizes[0] * bytes : pitch * s.sizes[d];
    pitch = (pitch + unit - 1) / unit * unit + unit * (draws.once_in(3) ? draws.below(8) : 0);
    if (d < 4) s.strides[d] = draws.once_in(60) ? draws.one_of({0ull, 24ull, 1ull << 40, (1ull << 40) - 16}) : pitch;
  }
  return s;
}

void print(const char* what, int number, CUresult result, const CUtensorMap& map) {
  std::printf("%s %d: %d ", what, number, result);
  if (result == CUDA_SUCCESS)
    print_hex(&map, sizeof map);
  else
    std::printf("-\n");
}

void encode_tiled(Draws& draws, int number) {
  const Shape s = draw(draws);
  CUtensorMap map{};
  print("tiled", number,
        cuTensorMapEncodeTiled(&map, s.type, s.rank, reinterpret_cast<void*>(s.address), s.sizes, s.strides, s.box, s.steps, s.interleave,
                               s.swizzle, s.promotion, s.fill),
        map);
}

void encode_im2col(Draws& draws, int number) {
  Shape s = draw(draws);
  if (s.rank < 3 && !draws.once_in(8)) s.rank = static_cast<cuuint32_t>(3 + draws.below(3));
  for (cuuint32_t d = 0; d < s.rank; ++d)
    if (s.sizes[d] == 0 || s.strides[d < 4 ? d : 3] == 0) s = draw(draws);
  int lower[3], upper[3];
  const int range = s.rank == 3 ? 32768 : s.rank == 4 ? 128 : 16;
  for (int i = 0; i < 3; ++i) {
    lower[i] = static_cast<int>(draws.below(8)) - 4;
    upper[i] = static_cast<int>(draws.below(8)) - 4;
    if (draws.once_in(12)) lower[i] = draws.one_of({-range, range - 1, range, -range - 1});
    if (draws.once_in(12)) upper[i] = draws.one_of({-range, range - 1, range, -range - 1});
  }
  const auto channels = static_cast<cuuint32_t>(draws.once_in(20) ? 257 : 16 / kTypeBytes[s.type] * (1 + draws.below(4)));
  const auto pixels = static_cast<cuuint32_t>(draws.once_in(20) ? 1025 : 1 + draws.below(1024));
  CUtensorMap map{};
  print("im2col", number,
        cuTensorMapEncodeIm2col(&map, s.type, s.rank, reinterpret_cast<void*>(s.address), s.sizes, s.strides, lower, upper, channels, pixels,
                                s.steps, s.interleave, s.swizzle, s.promotion, s.fill),
        map);
}

}  // namespace

int main(int count, char** arguments) {  // a seed, if another one
  NEEDED(cudaFree(nullptr));
  Draws draws(count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 20261126);
  for (int i = 0; i < 3000; ++i) encode_tiled(draws, i);
  for (int i = 0; i < 1500; ++i) encode_im2col(draws, i);
}
