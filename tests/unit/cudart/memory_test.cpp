// Memory of device and host, copies and sets of every shape, arrays, pools, handles for other processes.
#include "cudart_test.h"

namespace raddle::cudart {
namespace {

template <class T>
void** as_void(T** pointer) {
  return reinterpret_cast<void**>(pointer);
}

TEST_F(Runtime, MemoryComesAndGoes) {
  void* memory = this;
  OK(cudaMalloc(&memory, 0));
  EXPECT_EQ(memory, nullptr);
  OK(cudaFree(nullptr));
  OK(cudaMalloc(&memory, 100));
  std::size_t available = 0, total = 0;
  OK(cudaMemGetInfo(&available, &total));
  EXPECT_LE(available, total);
  OK(cudaFree(memory));
  EXPECT_NE(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&memory, std::size_t{1} << 60), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(nullptr, 4), cudaErrorInvalidValue);
}

TEST_F(Runtime, HostMemoryIsSeenByTheDevice) {
  int *pinned, *mapped;
  OK(cudaMallocHost(as_void(&pinned), 16));
  OK(cudaHostAlloc(as_void(&mapped), 16, cudaHostAllocMapped | cudaHostAllocPortable));
  unsigned flags = 0;
  OK(cudaHostGetFlags(&flags, mapped));
  EXPECT_NE(flags & cudaHostAllocMapped, 0u);
  void* device = nullptr;
  OK(cudaHostGetDevicePointer(&device, mapped, 0));
  *mapped = 5;
  OK(launch_scale(device, 5, dim3(1), dim3(1)));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(*mapped, 25);
  OK(cudaFreeHost(pinned));
  OK(cudaFreeHost(mapped));
  OK(cudaFreeHost(nullptr));
  std::vector<int> own(4096, 3);
  OK(cudaHostRegister(own.data(), own.size() * 4, cudaHostRegisterDefault));
  EXPECT_EQ(cudaHostRegister(own.data(), own.size() * 4, 0), cudaErrorHostMemoryAlreadyRegistered);
  OK(cudaHostUnregister(own.data()));
  EXPECT_EQ(cudaHostUnregister(own.data()), cudaErrorHostMemoryNotRegistered);
}

TEST_F(Runtime, PointersHaveAttributes) {
  char *device, *managed, *pinned, plain;
  OK(cudaMalloc(as_void(&device), 16));
  OK(cudaMallocManaged(as_void(&managed), 16, cudaMemAttachGlobal));
  OK(cudaMallocHost(as_void(&pinned), 16));
  cudaPointerAttributes attributes;
  OK(cudaPointerGetAttributes(&attributes, device + 3));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  EXPECT_EQ(attributes.devicePointer, device + 3);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  OK(cudaPointerGetAttributes(&attributes, managed));
  EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
  EXPECT_EQ(attributes.hostPointer, managed);
  OK(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  OK(cudaPointerGetAttributes(&attributes, &plain));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(attributes.device, cudaInvalidDeviceId);
}

TEST_F(Runtime, ManagedMemoryTakesAdvice) {
  int* data;
  OK(cudaMallocManaged(as_void(&data), 4096, cudaMemAttachGlobal));
  const cudaMemLocation here{cudaMemLocationTypeDevice, 0};
  OK(cudaMemAdvise(data, 4096, cudaMemAdviseSetReadMostly, here));
  OK(cudaMemPrefetchAsync(data, 4096, here, 0, nullptr));
  int read_mostly = 0, prefetched = -5;
  OK(cudaMemRangeGetAttribute(&read_mostly, 4, cudaMemRangeAttributeReadMostly, data, 4096));
  EXPECT_EQ(read_mostly, 1);
  void* results[] = {&read_mostly, &prefetched};
  std::size_t sizes[] = {4, 4};
  cudaMemRangeAttribute wanted[] = {cudaMemRangeAttributeReadMostly,
                                    cudaMemRangeAttributeLastPrefetchLocation};
  OK(cudaMemRangeGetAttributes(results, sizes, wanted, 2, data, 4096));
  EXPECT_EQ(prefetched, 0);
  OK(cudaStreamAttachMemAsync(nullptr, data, 0, cudaMemAttachGlobal));
  OK(cudaMallocManaged(as_void(&data), 0, cudaMemAttachGlobal));
  EXPECT_EQ(data, nullptr);
}

TEST_F(Runtime, CopiesEveryWay) {
  const std::vector<int> from = {1, 2, 3, 4};
  std::vector<int> to(4);
  int *a, *b;
  OK(cudaMalloc(as_void(&a), 16));
  OK(cudaMalloc(as_void(&b), 16));
  OK(cudaMemcpy(a, from.data(), 16, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(b, a, 16, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy(to.data(), b, 16, cudaMemcpyDeviceToHost));
  EXPECT_EQ(to, from);
  OK(cudaMemset(a, 0, 16));
  OK(cudaMemcpyAsync(a, from.data() + 2, 8, cudaMemcpyHostToDevice, nullptr));
  OK(cudaMemcpyAsync(b, a, 16, cudaMemcpyDeviceToDevice, nullptr));
  OK(cudaMemsetAsync(b, 0xff, 4, nullptr));
  OK(cudaMemcpyAsync(to.data(), b, 12, cudaMemcpyDeviceToHost, nullptr));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(to, (std::vector{-1, 4, 0, 4}));
  OK(cudaMemcpyPeer(a, 0, b, 0, 16));
  OK(cudaMemcpyPeerAsync(b, 0, a, 0, 16, nullptr));
  OK(cudaMemcpy(to.data(), b, 16, cudaMemcpyDefault));
  EXPECT_EQ(to, (std::vector{-1, 4, 0, 0}));
  OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
  EXPECT_EQ(cudaMemcpy(to.data(), nullptr, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyPeer(a, 0, b, 3, 16), cudaErrorInvalidDevice);
}

TEST_F(Runtime, CopiesRowsAndBoxes) {
  constexpr std::size_t kWidth = 12, kHeight = 5, kDepth = 3;
  std::vector<unsigned char> from(kWidth * kHeight * kDepth), to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i);
  void* rows;
  std::size_t pitch;
  OK(cudaMallocPitch(&rows, &pitch, kWidth, kHeight));
  OK(cudaMemset2D(rows, pitch, 0xee, kWidth, kHeight));
  OK(cudaMemcpy2D(rows, pitch, from.data(), kWidth, kWidth - 4, kHeight, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2DAsync(to.data(), kWidth, rows, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost, nullptr));
  OK(cudaDeviceSynchronize());
  for (std::size_t i = 0; i < kWidth * kHeight; ++i)
    EXPECT_EQ(to[i], i % kWidth < kWidth - 4 ? from[i] : 0xee);
  EXPECT_EQ(cudaMemcpy2D(rows, 4, from.data(), kWidth, kWidth, kHeight, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);

  cudaPitchedPtr box;
  const cudaExtent extent = make_cudaExtent(kWidth, kHeight, kDepth);
  OK(cudaMalloc3D(&box, extent));
  EXPECT_EQ(box.xsize, kWidth);
  OK(cudaMemset3D(box, 1, extent));
  OK(cudaMemset3DAsync(box, 2, make_cudaExtent(kWidth, 1, kDepth), nullptr));
  OK(cudaMemset2DAsync(box.ptr, box.pitch, 3, 1, 1, nullptr));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = box;
  copy.dstPtr = make_cudaPitchedPtr(to.data(), kWidth, kWidth, kHeight);
  copy.extent = extent;
  copy.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&copy));
  for (std::size_t i = 0; i < to.size(); ++i)
    EXPECT_EQ(to[i], i == 0 ? 3 : i / kWidth % kHeight == 0 ? 2 : 1) << i;
  copy.srcPtr = make_cudaPitchedPtr(from.data(), kWidth, kWidth, kHeight);
  copy.dstPtr = box;
  copy.srcPos = make_cudaPos(1, 2, 0);
  copy.dstPos = make_cudaPos(0, 0, 2);
  copy.extent = make_cudaExtent(3, 2, 1);
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3DAsync(&copy, nullptr));
  OK(cudaMemcpy(to.data(), static_cast<char*>(box.ptr) + 2 * kHeight * box.pitch, 3, cudaMemcpyDeviceToHost));
  EXPECT_EQ(to[0], from[2 * kWidth + 1]);
  cudaMemcpy3DPeerParms peer = {};
  peer.srcPtr = box;
  peer.srcPos = make_cudaPos(0, 0, 2);
  peer.dstPtr = box;
  peer.extent = make_cudaExtent(3, 1, 1);
  OK(cudaMemcpy3DPeer(&peer));
  OK(cudaMemcpy3DPeerAsync(&peer, nullptr));
  OK(cudaMemcpy(to.data(), box.ptr, 1, cudaMemcpyDeviceToHost));
  EXPECT_EQ(to[0], from[2 * kWidth + 1]);
  copy.srcArray = nullptr;
  copy.srcPtr.ptr = nullptr;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy3D(nullptr), cudaErrorInvalidValue);
}

TEST_F(Runtime, ArraysAreFilledAndRead) {
  constexpr std::size_t kWidth = 6, kHeight = 4;
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc(32, 32, 0, 0, cudaChannelFormatKindFloat);
  cudaArray_t array, other;
  OK(cudaMallocArray(&array, &floats, kWidth, kHeight, cudaArrayDefault));
  OK(cudaMalloc3DArray(&other, &floats, make_cudaExtent(kWidth, kHeight, 0), cudaArrayDefault));
  cudaChannelFormatDesc described;
  cudaExtent extent;
  unsigned flags = 9;
  OK(cudaArrayGetInfo(&described, &extent, &flags, array));
  EXPECT_EQ(described.y, 32);
  EXPECT_EQ(described.z, 0);
  EXPECT_EQ(described.f, cudaChannelFormatKindFloat);
  EXPECT_EQ(extent.height, kHeight);
  OK(cudaGetChannelDesc(&described, other));
  EXPECT_EQ(described.x, 32);
  std::vector<float> from(kWidth * kHeight * 2), to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  constexpr std::size_t kRow = kWidth * 8;
  OK(cudaMemcpy2DToArray(array, 0, 0, from.data(), kRow, kRow, kHeight, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, kRow, kHeight, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy2DFromArray(to.data(), kRow, other, 0, 0, kRow, kHeight, cudaMemcpyDeviceToHost));
  EXPECT_EQ(to, from);
  OK(cudaMemcpy2DToArrayAsync(array, 8, 1, from.data(), 8, 8, 1, cudaMemcpyHostToDevice, nullptr));
  OK(cudaMemcpy2DFromArrayAsync(to.data(), 8, array, 8, 1, 8, 1, cudaMemcpyDeviceToHost, nullptr));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(to[0], 0);
  EXPECT_EQ(to[1], 1);
  EXPECT_EQ(cudaMemcpy2DToArray(array, 3, 0, from.data(), kRow, 8, 1, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  // Runs that go on in the next row.
  OK(cudaMemcpyToArray(array, 0, 0, from.data(), kRow * kHeight, cudaMemcpyHostToDevice));
  OK(cudaMemcpyToArrayAsync(other, kRow - 8, 0, from.data(), 16, cudaMemcpyHostToDevice, nullptr));
  OK(cudaMemcpyFromArray(to.data(), other, kRow - 8, 0, 24, cudaMemcpyDeviceToHost));
  EXPECT_EQ(to[3], 3);
  EXPECT_EQ(to[4], from[kWidth * 2 + 2]);
  OK(cudaMemcpyArrayToArray(array, 8, 0, other, kRow - 8, 0, kRow, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpyFromArrayAsync(to.data(), array, 8, 0, 16, cudaMemcpyDeviceToHost, nullptr));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(to[3], 3);
  cudaArrayMemoryRequirements requirements;
  EXPECT_EQ(cudaArrayGetMemoryRequirements(&requirements, array, 0),
            cudaErrorInvalidValue);  // it has its memory
  EXPECT_NE(cudaArrayGetPlane(&other, array, 5), cudaSuccess);
  OK(cudaFreeArray(array));
  OK(cudaFreeArray(nullptr));
  const cudaChannelFormatDesc odd = cudaCreateChannelDesc(32, 16, 0, 0, cudaChannelFormatKindFloat);
  EXPECT_EQ(cudaMallocArray(&array, &odd, 4, 4, 0), cudaErrorInvalidChannelDescriptor);
}

TEST_F(Runtime, MipmappedArraysHaveLevels) {
  const cudaChannelFormatDesc bytes = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);
  cudaMipmappedArray_t mipmapped;
  OK(cudaMallocMipmappedArray(&mipmapped, &bytes, make_cudaExtent(16, 8, 0), 3, cudaArrayDefault));
  cudaArray_t level;
  OK(cudaGetMipmappedArrayLevel(&level, mipmapped, 1));
  cudaExtent extent;
  OK(cudaArrayGetInfo(nullptr, &extent, nullptr, level));
  EXPECT_EQ(extent.width, 8u);
  EXPECT_EQ(extent.height, 4u);
  cudaArrayMemoryRequirements requirements;
  EXPECT_EQ(cudaMipmappedArrayGetMemoryRequirements(&requirements, mipmapped, 0), cudaErrorInvalidValue);
  OK(cudaFreeMipmappedArray(mipmapped));
  OK(cudaFreeMipmappedArray(nullptr));
}

TEST_F(Runtime, TexturesDescribeThemselves) {
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaResourceDesc resource = {}, read_resource;
  resource.resType = cudaResourceTypeLinear;
  OK(cudaMalloc(&resource.res.linear.devPtr, 4096));
  resource.res.linear.desc = floats;
  resource.res.linear.sizeInBytes = 4096;
  cudaTextureDesc description = {}, read_description;
  description.addressMode[0] = cudaAddressModeClamp;
  description.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture;
  OK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  OK(cudaGetTextureObjectResourceDesc(&read_resource, texture));
  EXPECT_EQ(read_resource.resType, cudaResourceTypeLinear);
  EXPECT_EQ(read_resource.res.linear.devPtr, resource.res.linear.devPtr);
  EXPECT_EQ(read_resource.res.linear.sizeInBytes, 4096u);
  EXPECT_EQ(read_resource.res.linear.desc.x, 32);
  OK(cudaGetTextureObjectTextureDesc(&read_description, texture));
  EXPECT_EQ(read_description.addressMode[0], cudaAddressModeClamp);
  EXPECT_EQ(read_description.readMode, cudaReadModeElementType);
  cudaResourceViewDesc view;
  EXPECT_NE(cudaGetTextureObjectResourceViewDesc(&view, texture), cudaSuccess);  // it has none
  OK(cudaDestroyTextureObject(texture));
  std::size_t width = 0;
  OK(cudaDeviceGetTexture1DLinearMaxWidth(&width, &floats, 0));
  EXPECT_GT(width, 0u);
}

TEST_F(Runtime, SurfacesDescribeThemselves) {
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaResourceDesc resource = {}, read;
  resource.resType = cudaResourceTypeArray;
  OK(cudaMallocArray(&resource.res.array.array, &floats, 8, 8, cudaArraySurfaceLoadStore));
  cudaSurfaceObject_t surface;
  OK(cudaCreateSurfaceObject(&surface, &resource));
  OK(cudaGetSurfaceObjectResourceDesc(&read, surface));
  EXPECT_EQ(read.res.array.array, resource.res.array.array);
  OK(cudaDestroySurfaceObject(surface));
}

TEST_F(Runtime, MemoryIsAllocatedInStreamOrder) {
  int* data;
  OK(cudaMallocAsync(as_void(&data), 64, nullptr));
  OK(cudaMemsetAsync(data, 0, 64, nullptr));
  OK(cudaFreeAsync(data, nullptr));
  OK(cudaFreeAsync(nullptr, nullptr));
  cudaMemPool_t pool, current;
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  OK(cudaDeviceGetMemPool(&current, 0));
  EXPECT_EQ(pool, current);
  std::uint64_t threshold = 1 << 20;
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  threshold = 0;
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  EXPECT_EQ(threshold, 1u << 20);
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  OK(cudaMemPoolCreate(&pool, &properties));
  OK(cudaMallocFromPoolAsync(as_void(&data), 64, pool, nullptr));
  cudaMemAccessFlags flags;
  cudaMemLocation here{cudaMemLocationTypeDevice, 0};
  OK(cudaMemPoolGetAccess(&flags, pool, &here));
  EXPECT_EQ(flags, cudaMemAccessFlagsProtReadWrite);
  const cudaMemAccessDesc access{here, cudaMemAccessFlagsProtReadWrite};
  OK(cudaMemPoolSetAccess(pool, &access, 1));
  OK(cudaDeviceSetMemPool(0, pool));
  OK(cudaDeviceSetMemPool(0, current));
  OK(cudaFreeAsync(data, nullptr));
  OK(cudaDeviceSynchronize());
  OK(cudaMemPoolTrimTo(pool, 0));
  OK(cudaMemPoolDestroy(pool));
}

TEST_F(Runtime, TheHostHasAPoolToo) {
  cudaMemLocation host{cudaMemLocationTypeHost, 0};
  cudaMemPool_t standard, own, now;
  int* data = nullptr;
  OK(cudaMemGetDefaultMemPool(&standard, &host, cudaMemAllocationTypePinned));
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = host;
  OK(cudaMemPoolCreate(&own, &properties));
  OK(cudaMemSetMemPool(&host, cudaMemAllocationTypePinned, own));
  OK(cudaMemGetMemPool(&now, &host, cudaMemAllocationTypePinned));
  EXPECT_EQ(now, own);
  OK(cudaMallocFromPoolAsync(as_void(&data), 64, now, nullptr));
  OK(cudaMemsetAsync(data, 1, 64, nullptr));
  OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(data[15], 0x01010101);
  OK(cudaFreeAsync(data, nullptr));
  OK(cudaMemPoolDestroy(own));
  OK(cudaMemGetMemPool(&now, &host, cudaMemAllocationTypePinned));
  EXPECT_EQ(now, standard);
}

TEST_F(Runtime, PoolsOfThisProcessAreNotShared) {
  int descriptor = -1;
  cudaMemPool_t pool = nullptr;
  cudaMemPoolPtrExportData data = {};
  void* pointer = nullptr;
  EXPECT_NE(cudaMemPoolExportToShareableHandle(&descriptor, pool, cudaMemHandleTypePosixFileDescriptor, 0),
            cudaSuccess);
  EXPECT_NE(cudaMemPoolImportFromShareableHandle(&pool, nullptr, cudaMemHandleTypePosixFileDescriptor, 0),
            cudaSuccess);
  EXPECT_NE(cudaMemPoolExportPointer(&data, &pointer), cudaSuccess);
  EXPECT_NE(cudaMemPoolImportPointer(&pointer, pool, &data), cudaSuccess);
}

TEST_F(Runtime, HandlesForOtherProcessesNeedMemoryOfTheDevice) {
  cudaIpcMemHandle_t memory = {};
  cudaIpcEventHandle_t event_handle = {};
  cudaEvent_t event = nullptr;
  void* pointer = nullptr;
  EXPECT_NE(cudaIpcGetMemHandle(&memory, &pointer), cudaSuccess);
  EXPECT_NE(cudaIpcOpenMemHandle(&pointer, memory, cudaIpcMemLazyEnablePeerAccess), cudaSuccess);
  EXPECT_NE(cudaIpcCloseMemHandle(&pointer), cudaSuccess);
  EXPECT_NE(cudaIpcGetEventHandle(&event_handle, event), cudaSuccess);
  EXPECT_NE(cudaIpcOpenEventHandle(&event, event_handle), cudaSuccess);
}

}  // namespace
}  // namespace raddle::cudart
