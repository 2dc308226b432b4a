// Texture fetches and surface accesses as CUDA C++ writes them: each kernel reads points and writes what the
// texture gives there. A point is (x, y, z, w); w is the layer or the level of detail where there is one.
#define POINT                                        \
  const int i = blockIdx.x * blockDim.x + threadIdx.x; \
  if (i >= n) return;                                \
  const float4 p = at[i];

#define FETCH(name, expression)                                                                             \
  extern "C" __global__ void name(cudaTextureObject_t t, const float4* at, float4* out, int n) {            \
    POINT out[i] = expression;                                                                              \
  }

FETCH(fetch_1d, tex1D<float4>(t, p.x))
FETCH(fetch_2d, tex2D<float4>(t, p.x, p.y))
FETCH(fetch_3d, tex3D<float4>(t, p.x, p.y, p.z))
FETCH(fetch_1d_layered, tex1DLayered<float4>(t, p.x, (int)p.w))
FETCH(fetch_2d_layered, tex2DLayered<float4>(t, p.x, p.y, (int)p.w))
FETCH(fetch_cube, texCubemap<float4>(t, p.x, p.y, p.z))
FETCH(fetch_cube_layered, texCubemapLayered<float4>(t, p.x, p.y, p.z, (int)p.w))
FETCH(fetch_2d_lod, tex2DLod<float4>(t, p.x, p.y, p.w))
FETCH(fetch_2d_grad, tex2DGrad<float4>(t, p.x, p.y, make_float2(p.z, 0), make_float2(0, p.w)))
FETCH(fetch_1d_lod, tex1DLod<float4>(t, p.x, p.w))
FETCH(fetch_3d_lod, tex3DLod<float4>(t, p.x, p.y, p.z, p.w))
FETCH(gather_0, tex2Dgather<float4>(t, p.x, p.y, 0))
FETCH(gather_2, tex2Dgather<float4>(t, p.x, p.y, 2))
FETCH(fetch_linear, tex1Dfetch<float4>(t, (int)p.x))

#define FETCH_INTEGERS(name, type)                                                                        \
  extern "C" __global__ void name(cudaTextureObject_t t, const float4* at, int4* out, int n) {            \
    POINT const type v = tex2D<type>(t, p.x, p.y);                                                        \
    out[i] = make_int4(v.x, v.y, v.z, v.w);                                                               \
  }
FETCH_INTEGERS(fetch_uchar4, uchar4)
FETCH_INTEGERS(fetch_char4, char4)
FETCH_INTEGERS(fetch_ushort4, ushort4)
FETCH_INTEGERS(fetch_short4, short4)
FETCH_INTEGERS(fetch_int4, int4)

/// to(x, y) = 2 * from(x + dx, y + dy), beyond whose edges lies the nearest texel.
extern "C" __global__ void surface_2d(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int dx, int dy, int width,
                                      int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width || y >= height) return;
  const float v = surf2Dread<float>(from, (x + dx) * (int)sizeof(float), y + dy, cudaBoundaryModeClamp);
  surf2Dwrite(2 * v, to, x * (int)sizeof(float), y);
}

/// Beyond the edges lies 0, and stores there are lost.
extern "C" __global__ void surface_zero(cudaSurfaceObject_t s, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const float v = surf2Dread<float>(s, x * (int)sizeof(float), 1, cudaBoundaryModeZero);
  surf2Dwrite(v + (x >= width ? 100.0f : 1.0f), s, x * (int)sizeof(float), 1, cudaBoundaryModeZero);
}

extern "C" __global__ void surface_layers(cudaSurfaceObject_t s, int layers) {
  const int x = threadIdx.x;
  for (int layer = 0; layer < layers; ++layer)
    surf2DLayeredwrite(make_uchar4(x, layer, 3, 4), s, x * (int)sizeof(uchar4), 0, layer);
}

extern "C" __global__ void surface_3d(cudaSurfaceObject_t s) {
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  float2 v;
  surf3Dread(&v, s, x * (int)sizeof(float2), y, z);
  surf3Dwrite(make_float2(v.y, v.x), s, x * (int)sizeof(float2), y, z);
}
