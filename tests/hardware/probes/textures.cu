// What fetches give: drawn textures of every kind of image, filter, address mode and format, at drawn coordinates; four words a fetch.
#include "probe.h"

namespace {

constexpr int kFetches = 64;


__global__ void fetch(cudaTextureObject_t texture, int kind, const float4* at, float4* out) {
  const int i = threadIdx.x;
  const float4 c = at[i];
  float4 value = make_float4(0, 0, 0, 0);
  switch (kind) {
    case 0: value = tex1D<float4>(texture, c.x); break;
    case 1: value = tex2D<float4>(texture, c.x, c.y); break;
    case 2: value = tex3D<float4>(texture, c.x, c.y, c.z); break;
    case 3: value = tex1DLayered<float4>(texture, c.x, static_cast<int>(c.w)); break;
    case 4: value = tex2DLayered<float4>(texture, c.x, c.y, static_cast<int>(c.w)); break;
    case 5: value = texCubemap<float4>(texture, c.x, c.y, c.z); break;
    case 6: value = tex2DLod<float4>(texture, c.x, c.y, c.w); break;
    case 7: value = tex2Dgather<float4>(texture, c.x, c.y, 1); break;
  }
  out[i] = value;
}

struct Format {
  const char* name;
  cudaChannelFormatDesc desc;
  cudaTextureReadMode read;
};

void probe(int kind, const Format& format, cudaTextureFilterMode filter, cudaTextureAddressMode address, bool normalized, Draws& draws) {
  cudaChannelFormatDesc desc = format.desc;
  const std::size_t texel = (desc.x + desc.y + desc.z + desc.w) / 8;
  const bool three = kind == 2, cube = kind == 5, layered = kind == 3 || kind == 4;
  const unsigned width = cube ? 16 : 19, height = kind == 0 || kind == 3 ? 0 : cube ? 16 : 13;
  const unsigned depth = three ? 7 : cube ? 6 : layered ? 4 : 0;
  const cudaExtent extent = make_cudaExtent(width, height, depth);
  const unsigned flags = (layered ? cudaArrayLayered : 0) | (cube ? cudaArrayCubemap : 0) | (kind == 7 ? cudaArrayTextureGather : 0);
  cudaArray_t array;
  NEEDED(cudaMalloc3DArray(&array, &desc, extent, flags));
  std::vector<unsigned char> data(texel * width * (height ? height : 1) * (depth ? depth : 1));
  if (desc.f == cudaChannelFormatKindFloat && desc.x == 32)
    for (std::size_t i = 0; i < data.size(); i += 4) {
      const float value = static_cast<float>(draws.below(1 << 20)) / 4096.0f - 100;
      std::memcpy(&data[i], &value, 4);
    }
  else if (desc.f == cudaChannelFormatKindFloat)
    for (std::size_t i = 0; i < data.size(); i += 2) {  // finite halves
      const auto bits = static_cast<std::uint16_t>(draws.word() & 0x83ff | (draws.below(28) + 1) << 10);
      std::memcpy(&data[i], &bits, 2);
    }
  else
    for (unsigned char& byte : data) byte = static_cast<unsigned char>(draws.word());
  cudaMemcpy3DParms copy{};
  const std::size_t rows = height ? height : 1, slices = depth ? depth : 1;
  copy.srcPtr = make_cudaPitchedPtr(data.data(), texel * width, width, rows);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(width, rows, slices);
  copy.kind = cudaMemcpyHostToDevice;
  NEEDED(cudaMemcpy3D(&copy));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description{};
  for (auto& mode : description.addressMode) mode = address;
  description.filterMode = filter;
  description.readMode = format.read;
  description.normalizedCoords = normalized;
  description.borderColor[0] = 1.5f, description.borderColor[1] = -2.25f, description.borderColor[2] = 0.25f, description.borderColor[3] = 1;
  cudaTextureObject_t texture = 0;
  const cudaError_t made = cudaCreateTextureObject(&texture, &resource, &description, nullptr);
  std::printf("kind %d %s filter %d address %d normalized %d: ", kind, format.name, filter, address, normalized);
  if (made != cudaSuccess) {
    std::printf("error %d\n", made);
    cudaGetLastError();
    NEEDED(cudaFreeArray(array));
    return;
  }
  std::vector<float4> at(kFetches), out(kFetches);
  for (float4& c : at) {
    const auto along = [&](unsigned size) {
      const float span = normalized ? 1.0f : static_cast<float>(size);
      const float place = (static_cast<float>(draws.below(1 << 22)) / (1 << 22) * 2.2f - 0.6f) * span;
      return draws.once_in(4) ? static_cast<float>(draws.below(size)) * (normalized ? 1.0f / static_cast<float>(size) : 1) : place;
    };
    c.x = along(width), c.y = along(rows), c.z = along(static_cast<unsigned>(slices));
    if (cube) c.x -= 8, c.y -= 8, c.z -= 3;  // a direction
    c.w = static_cast<float>(draws.below(4));
  }
  float4 *in_device, *out_device;
  NEEDED(cudaMalloc(&in_device, kFetches * sizeof(float4)));
  NEEDED(cudaMalloc(&out_device, kFetches * sizeof(float4)));
  NEEDED(cudaMemcpy(in_device, at.data(), kFetches * sizeof(float4), cudaMemcpyHostToDevice));
  fetch<<<1, kFetches>>>(texture, kind, in_device, out_device);
  NEEDED(cudaMemcpy(out.data(), out_device, kFetches * sizeof(float4), cudaMemcpyDeviceToHost));
  print_hex(out.data(), kFetches * sizeof(float4));
  NEEDED(cudaDestroyTextureObject(texture));
  NEEDED(cudaFreeArray(array));
  NEEDED(cudaFree(in_device));
  NEEDED(cudaFree(out_device));
}

}  // namespace

int main() {
  const Format formats[] = {{"f32x4", cudaCreateChannelDesc<float4>(), cudaReadModeElementType},
                            {"f32", cudaCreateChannelDesc<float>(), cudaReadModeElementType},
                            {"f16x4", cudaCreateChannelDescHalf4(), cudaReadModeElementType},
                            {"u8x4n", cudaCreateChannelDesc<uchar4>(), cudaReadModeNormalizedFloat},
                            {"s8x2n", cudaCreateChannelDesc<char2>(), cudaReadModeNormalizedFloat},
                            {"u16n", cudaCreateChannelDesc<unsigned short>(), cudaReadModeNormalizedFloat},
                            {"s16x4n", cudaCreateChannelDesc<short4>(), cudaReadModeNormalizedFloat}};
  Draws draws(11);
  for (int kind = 0; kind < 8; ++kind)
    for (const Format& format : formats)
      for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear})
        for (int address = 0; address < 4; ++address)
          for (const bool normalized : {false, true}) probe(kind, format, filter, static_cast<cudaTextureAddressMode>(address), normalized, draws);
}
