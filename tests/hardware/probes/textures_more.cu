// How coordinates become texels and weights: textures whose texels say where they are, at coordinates of fine steps and at texels'
// borders; a line of coordinates and one of results for each.
#include <cmath>
#include "probe.h"

namespace {

constexpr int kFetches = 1024;

enum Kind { k1D, k2D, k3D, kGather, kCube, kLod };

__global__ void fetch(cudaTextureObject_t texture, int kind, const float4* at, float4* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 c = at[i];
  float4 value = make_float4(0, 0, 0, 0);
  switch (kind) {
    case k1D: value = tex1D<float4>(texture, c.x); break;
    case k2D: value = tex2D<float4>(texture, c.x, c.y); break;
    case k3D: value = tex3D<float4>(texture, c.x, c.y, c.z); break;
    case kGather: value = tex2Dgather<float4>(texture, c.x, c.y, 0); break;
    case kCube: value = texCubemap<float4>(texture, c.x, c.y, c.z); break;
    case kLod: value = tex2DLod<float4>(texture, c.x, c.y, c.z); break;
  }
  out[i] = value;
}

struct Sampler {
  cudaTextureFilterMode filter = cudaFilterModePoint;
  cudaTextureAddressMode address = cudaAddressModeClamp;
  bool normalized = false;
  cudaTextureFilterMode levels = cudaFilterModePoint;
  float bias = 0, least = 0, most = 100;
};

void ask(const char* name, cudaResourceDesc resource, const Sampler& sampler, int kind, const std::vector<float4>& at) {
  cudaTextureDesc description{};
  for (auto& mode : description.addressMode) mode = sampler.address;
  description.filterMode = sampler.filter;
  description.normalizedCoords = sampler.normalized;
  description.mipmapFilterMode = sampler.levels;
  description.mipmapLevelBias = sampler.bias;
  description.minMipmapLevelClamp = sampler.least;
  description.maxMipmapLevelClamp = sampler.most;
  cudaTextureObject_t texture = 0;
  NEEDED(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  float4 *in, *out;
  NEEDED(cudaMalloc(&in, kFetches * sizeof(float4)));
  NEEDED(cudaMalloc(&out, kFetches * sizeof(float4)));
  NEEDED(cudaMemcpy(in, at.data(), kFetches * sizeof(float4), cudaMemcpyHostToDevice));
  fetch<<<kFetches / 64, 64>>>(texture, kind, in, out);
  std::vector<float4> results(kFetches);
  NEEDED(cudaMemcpy(results.data(), out, kFetches * sizeof(float4), cudaMemcpyDeviceToHost));
  std::printf("%s filter %d address %d normalized %d levels %d bias %g clamp %g %g at: ", name, sampler.filter, sampler.address, sampler.normalized,
              sampler.levels, sampler.bias, sampler.least, sampler.most);
  print_hex(at.data(), kFetches * sizeof(float4));
  std::printf("%s gives: ", name);
  print_hex(results.data(), kFetches * sizeof(float4));
  NEEDED(cudaDestroyTextureObject(texture));
  NEEDED(cudaFree(in));
  NEEDED(cudaFree(out));
}

cudaResourceDesc make(const cudaChannelFormatDesc& desc, unsigned width, unsigned height, unsigned depth, unsigned flags, const std::vector<float>& data) {
  const cudaExtent extent = make_cudaExtent(width, height, depth);
  cudaArray_t array;
  NEEDED(cudaMalloc3DArray(&array, &desc, extent, flags));
  cudaMemcpy3DParms copy{};
  const std::size_t texel = static_cast<std::size_t>(desc.x + desc.y + desc.z + desc.w) / 8;
  copy.srcPtr = make_cudaPitchedPtr(const_cast<float*>(data.data()), texel * width, width, height ? height : 1);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(width, height ? height : 1, depth ? depth : 1);
  copy.kind = cudaMemcpyHostToDevice;
  NEEDED(cudaMemcpy3D(&copy));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

/// Between low and high in steps of 2^-bits.
float step(Draws& draws, float low, float high, int bits) {
  const float scale = static_cast<float>(1 << bits);
  return low + static_cast<float>(draws.below(static_cast<std::uint64_t>((high - low) * scale))) / scale;
}

/// One texel's channel is 1 for each of four texels.
void weights(Draws& draws) {
  const auto four = cudaCreateChannelDesc<float4>();
  std::vector<float> line(4 * 4);
  line[4 + 0] = line[8 + 1] = 1;
  std::vector<float4> at(kFetches);
  for (float4& c : at) c.x = step(draws, 1.5f, 2.5f, 12);
  ask("weights 1D", make(four, 4, 0, 0, 0, line), {.filter = cudaFilterModeLinear}, k1D, at);
  std::vector<float> plane(4 * 4 * 4);
  plane[(1 * 4 + 1) * 4 + 0] = plane[(1 * 4 + 2) * 4 + 1] = plane[(2 * 4 + 1) * 4 + 2] = plane[(2 * 4 + 2) * 4 + 3] = 1;
  for (float4& c : at) c.x = step(draws, 1.5f, 2.5f, 9), c.y = step(draws, 1.5f, 2.5f, 9);
  ask("weights 2D", make(four, 4, 4, 0, 0, plane), {.filter = cudaFilterModeLinear}, k2D, at);
  for (float4& c : at) c.x = step(draws, 1.5f, 2.5f, 8), c.y = step(draws, 1.5f, 2.5f, 8), c.z = step(draws, 1.5f, 2.5f, 8);
  for (int half = 0; half < 2; ++half) {
    std::vector<float> box(4 * 4 * 4 * 4);
    std::copy(plane.begin(), plane.end(), box.begin() + (half + 1) * 64);
    ask(half ? "weights 3D behind" : "weights 3D front", make(four, 4, 4, 4, 0, box), {.filter = cudaFilterModeLinear}, k3D, at);
  }
}

/// A texel's value is its number.
void places(Draws& draws) {
  const auto one = cudaCreateChannelDesc<float>();
  for (const unsigned width : {19u, 13u, 16u, 7u, 1000u, 5000u}) {
    std::vector<float> line(width);
    for (unsigned i = 0; i < width; ++i) line[i] = static_cast<float>(i);
    const cudaResourceDesc resource = make(one, width, 0, 0, 0, line);
    std::vector<float4> at(kFetches), units(kFetches);
    for (int i = 0; i < kFetches; ++i) {
      const float texel = static_cast<float>(draws.below(width * 3)) - static_cast<float>(width);
      const int near = static_cast<int>(draws.below(40));
      float x = texel + (near < 16 ? 0 : near < 32 ? 0.5f : static_cast<float>(draws.word() >> 40) / 16777216.0f);
      if (near % 4 == 1) x += std::ldexp(1.0f, -static_cast<int>(draws.below(16)) - 4);
      if (near % 4 == 2) x -= std::ldexp(1.0f, -static_cast<int>(draws.below(16)) - 4);
      at[i].x = x / static_cast<float>(width);
      units[i].x = x;
      if (near % 4 == 3) {
        const int ulps = static_cast<int>(draws.below(17)) - 8;
        std::uint32_t bits;
        std::memcpy(&bits, &at[i].x, 4), bits += ulps, std::memcpy(&at[i].x, &bits, 4);
        std::memcpy(&bits, &units[i].x, 4), bits += ulps, std::memcpy(&units[i].x, &bits, 4);
      }
    }
    char name[40];
    std::snprintf(name, sizeof name, "places 1D of %u", width);
    for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
      for (int address = 0; address < 4; ++address)
        ask(name, resource, {.filter = filter, .address = static_cast<cudaTextureAddressMode>(address), .normalized = true}, k1D, at);
      ask(name, resource, {.filter = filter}, k1D, units);
    }
  }
  std::vector<float> plane(19 * 13);
  for (int i = 0; i < 19 * 13; ++i) plane[i] = static_cast<float>(i);
  const cudaResourceDesc gathered = make(one, 19, 13, 0, cudaArrayTextureGather, plane);
  std::vector<float4> at(kFetches), units(kFetches);
  for (int i = 0; i < kFetches; ++i) {
    units[i].x = draws.once_in(2) ? static_cast<float>(draws.below(40)) / 2 : step(draws, -2, 22, 11);
    units[i].y = draws.once_in(2) ? static_cast<float>(draws.below(28)) / 2 : step(draws, -2, 15, 11);
    at[i].x = units[i].x / 19, at[i].y = units[i].y / 13;
  }
  ask("gather", gathered, {}, kGather, units);
  for (int address = 0; address < 4; ++address)
    ask("gather", gathered, {.address = static_cast<cudaTextureAddressMode>(address), .normalized = true}, kGather, at);
}

void cubes(Draws& draws) {
  std::vector<float> faces(6 * 16 * 16), constant(6 * 16 * 16 * 4), along(6 * 16 * 16 * 4);
  for (int i = 0; i < 6 * 256; ++i) {
    faces[i] = static_cast<float>(i);
    constant[i * 4] = i / 256 == 0 || i / 256 == 1, constant[i * 4 + 1] = i / 256 == 2 || i / 256 == 3, constant[i * 4 + 2] = i / 256 == 4 || i / 256 == 5;
    constant[i * 4 + 3] = i / 256 % 2;
    along[i * 4] = static_cast<float>(i % 16), along[i * 4 + 1] = static_cast<float>(i / 16 % 16), along[i * 4 + 2] = static_cast<float>(i / 256);
  }
  std::vector<float4> at(kFetches);
  for (float4& c : at) {
    const bool tied = draws.once_in(3);
    c.x = tied ? static_cast<float>(draws.below(5)) - 2 : step(draws, -4, 4, 14);
    c.y = tied ? static_cast<float>(draws.below(5)) - 2 : step(draws, -4, 4, 14);
    c.z = tied ? static_cast<float>(draws.below(5)) - 2 : step(draws, -4, 4, 14);
    if (!tied && draws.once_in(2)) c.y = c.x * (draws.below(2) ? -1 : 1) * (1 + static_cast<float>(draws.below(9)) / 64);  // near an edge
  }
  const auto one = cudaCreateChannelDesc<float>(), four = cudaCreateChannelDesc<float4>();
  ask("cube texels", make(one, 16, 16, 6, cudaArrayCubemap, faces), {.normalized = true}, kCube, at);
  ask("cube faces", make(four, 16, 16, 6, cudaArrayCubemap, constant), {.filter = cudaFilterModeLinear, .normalized = true}, kCube, at);
  ask("cube places", make(four, 16, 16, 6, cudaArrayCubemap, along), {.filter = cudaFilterModeLinear, .normalized = true}, kCube, at);
}

void levels(Draws& draws) {
  const auto one = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t array;
  NEEDED(cudaMallocMipmappedArray(&array, &one, make_cudaExtent(16, 16, 0), 5));
  for (unsigned level = 0; level < 5; ++level) {
    cudaArray_t at;
    NEEDED(cudaGetMipmappedArrayLevel(&at, array, level));
    const unsigned size = 16 >> level;
    const std::vector<float> data(size * size, static_cast<float>(level));
    NEEDED(cudaMemcpy2DToArray(at, 0, 0, data.data(), size * 4, size * 4, size, cudaMemcpyHostToDevice));
  }
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = array;
  std::vector<float4> at(kFetches);
  for (float4& c : at) c.x = 0.3f, c.y = 0.6f, c.z = draws.once_in(3) ? static_cast<float>(draws.below(16)) / 2 - 1 : step(draws, -1, 6, 12);
  for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
    ask("levels", resource, {.normalized = true, .levels = filter}, kLod, at);
    ask("levels", resource, {.normalized = true, .levels = filter, .bias = 0.3f}, kLod, at);
    ask("levels", resource, {.normalized = true, .levels = filter, .least = 0.7f, .most = 2.4f}, kLod, at);
    ask("levels", resource, {.filter = cudaFilterModeLinear, .normalized = true, .levels = filter, .bias = -0.61f, .least = 0.7f, .most = 3.4f}, kLod, at);
  }
}

}  // namespace

#include <cmath>
int main() {
  Draws draws(17);
  weights(draws);
  places(draws);
  cubes(draws);
  levels(draws);
}
