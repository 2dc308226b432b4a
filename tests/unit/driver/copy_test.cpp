// Copies of two and three dimensions, between contexts, in batches; fills of rows.
#include <numeric>

#include "driver_test.h"

namespace raddle::driver {
namespace {

using Values = std::vector<unsigned>;

class Copies : public Driver {
 protected:
  /// 0, 1, 2, ... as device memory.
  CUdeviceptr counted(unsigned count) {
    Values values(count);
    std::iota(values.begin(), values.end(), 0u);
    return upload(values);
  }
  CUstream own() { return stream(STREAM_NON_BLOCKING); }
};

/// Two rows of two words from column 1 of rows 1 and 2 of a matrix of 4 x 4.
CUDA_MEMCPY2D middle(CUdeviceptr from, void* to) {
  CUDA_MEMCPY2D p{};
  p.srcMemoryType = MEMORYTYPE_DEVICE;
  p.srcDevice = from;
  p.srcPitch = 16;
  p.srcXInBytes = 4;
  p.srcY = 1;
  p.dstMemoryType = MEMORYTYPE_HOST;
  p.dstHost = to;
  p.dstPitch = 12;
  p.WidthInBytes = 8;
  p.Height = 2;
  return p;
}

TEST_F(Copies, OfTwoDimensionsTakeRowsAtTheirPitches) {
  const CUdeviceptr matrix = counted(16);
  const Values wanted{5, 6, 0, 9, 10, 0};
  Values host(6);
  CUDA_MEMCPY2D p = middle(matrix, host.data());
  EXPECT_EQ(cuMemcpy2D_v2(&p), CUDA_SUCCESS);
  EXPECT_EQ(host, wanted);
  host.assign(6, 0);
  EXPECT_EQ(cuMemcpy2DUnaligned_v2(&p), CUDA_SUCCESS);
  EXPECT_EQ(host, wanted);
  host.assign(6, 0);
  const CUstream s = own();
  EXPECT_EQ(cuMemcpy2DAsync_v2(&p, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(host, wanted);
  // And back, to the first rows, by unified addresses.
  std::swap(p.srcDevice, p.dstDevice);
  p.srcMemoryType = p.dstMemoryType = MEMORYTYPE_UNIFIED;
  p.srcDevice = reinterpret_cast<CUdeviceptr>(host.data());
  p.dstDevice = matrix;
  p.srcXInBytes = p.srcY = 0;
  p.srcPitch = 12;
  p.dstPitch = 16;
  EXPECT_EQ(cuMemcpy2D_v2(&p), CUDA_SUCCESS);
  EXPECT_EQ(download(matrix, 8), (Values{5, 6, 2, 3, 9, 10, 6, 7}));
}

TEST_F(Copies, OfTwoDimensionsAreChecked) {
  const CUdeviceptr matrix = counted(16);
  Values host(6);
  const auto with = [&](auto&& change) {
    CUDA_MEMCPY2D p = middle(matrix, host.data());
    change(p);
    return cuMemcpy2D_v2(&p);
  };
  EXPECT_EQ(with([](auto& p) { p.srcPitch = 8; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](auto& p) { p.dstPitch = 4; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](auto& p) { p.srcPitch = std::size_t{1} << 31; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](auto& p) { p.Height = 4; }), CUDA_ERROR_INVALID_VALUE);  // past the matrix
  EXPECT_EQ(with([](auto& p) { p.Height = ~std::size_t{0} / 16; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](auto& p) { p.WidthInBytes = ~std::size_t{0}; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](auto& p) { p.dstHost = nullptr; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([&](auto& p) { p.srcDevice = reinterpret_cast<CUdeviceptr>(host.data()); }),
            CUDA_ERROR_INVALID_VALUE);  // no device memory
  EXPECT_EQ(with([](auto& p) { p.srcMemoryType = CUmemorytype(9); }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](auto& p) { p.Height = 0; }), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy2D_v2(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(host, Values(6));
}

template <class Parameters>
Parameters corner(CUdeviceptr from, CUdeviceptr to) {
  Parameters p{};  // 2 x 2 x 2 words from the far corner of 3 x 3 x 3
  p.srcMemoryType = p.dstMemoryType = MEMORYTYPE_DEVICE;
  p.srcDevice = from;
  p.srcPitch = 12;
  p.srcHeight = 3;
  p.srcXInBytes = 4;
  p.srcY = p.srcZ = 1;
  p.dstDevice = to;
  p.dstPitch = 8;
  p.dstHeight = 2;
  p.WidthInBytes = 8;
  p.Height = p.Depth = 2;
  return p;
}

TEST_F(Copies, OfThreeDimensionsTakeSlices) {
  const CUdeviceptr cube = counted(27), to = upload(Values(8));
  const Values wanted{13, 14, 16, 17, 22, 23, 25, 26};
  auto p = corner<CUDA_MEMCPY3D>(cube, to);
  EXPECT_EQ(cuMemcpy3D_v2(&p), CUDA_SUCCESS);
  EXPECT_EQ(download(to, 8), wanted);
  EXPECT_EQ(cuMemsetD32_v2(to, 0, 8), CUDA_SUCCESS);
  const CUstream s = own();
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy3DAsync_v2(&p, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(download(to, 8), wanted);
  p.srcHeight = 2;
  if (!on_hardware()) EXPECT_EQ(cuMemcpy3D_v2(&p), CUDA_ERROR_INVALID_VALUE);
  p = corner<CUDA_MEMCPY3D>(cube, to);
  p.srcLOD = 1;
  if (!on_hardware()) EXPECT_EQ(cuMemcpy3D_v2(&p), CUDA_ERROR_INVALID_VALUE);
  p = corner<CUDA_MEMCPY3D>(cube, to);
  p.Depth = 3;
  EXPECT_EQ(cuMemcpy3D_v2(&p), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Copies, BetweenContexts) {
  const CUdeviceptr cube = counted(27);
  CUcontext other = nullptr;
  ASSERT_EQ(cuCtxCreate_v4(&other, nullptr, 0, 0), CUDA_SUCCESS);
  const CUdeviceptr to = upload(Values(8));
  EXPECT_EQ(cuMemcpyPeer(to, other, cube + 4, context, 32), CUDA_SUCCESS);
  EXPECT_EQ(download(to, 8), (Values{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(download(cube, 2), (Values{0, 1}));  // also by an address of the other context alone
  const CUstream s = own();
  EXPECT_EQ(cuMemcpyPeerAsync(to, other, cube, context, 32, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(download(to, 2), (Values{0, 1}));
  auto p = corner<CUDA_MEMCPY3D_PEER>(cube, to);
  p.srcContext = context;
  p.dstContext = other;
  EXPECT_EQ(cuMemcpy3DPeer(&p), CUDA_SUCCESS);
  EXPECT_EQ(download(to, 3), (Values{13, 14, 16}));
  p.WidthInBytes = 4;
  EXPECT_EQ(cuMemsetD32Async(to, 9, 8, s), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy3DPeerAsync(&p, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(download(to, 3), (Values{13, 9, 16}));
  EXPECT_EQ(cuMemsetD32_v2(cube, 77, 1), CUDA_SUCCESS);
  EXPECT_EQ(download(cube, 2), (Values{77, 1}));
  p.srcContext = reinterpret_cast<CUcontext>(0x1234);
  if (!on_hardware()) EXPECT_EQ(cuMemcpy3DPeer(&p), CUDA_ERROR_INVALID_CONTEXT);
  if (!on_hardware()) EXPECT_EQ(cuMemcpyPeer(to, nullptr, cube, context, 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy_v2(other), CUDA_SUCCESS);
}

TEST_F(Copies, InBatchesEachTakeTheirAttributes) {
  const CUstream s = own();
  const CUdeviceptr a = counted(4), b = upload(Values(4));
  Values back(2);
  const auto source = std::make_unique<Values>(Values{40, 41});
  CUdeviceptr to[] = {b, b + 8, reinterpret_cast<CUdeviceptr>(back.data())};
  CUdeviceptr from[] = {a + 8, reinterpret_cast<CUdeviceptr>(source->data()), a};
  std::size_t bytes[] = {8, 8, 8}, first[] = {0, 1, 2}, failed = 0;
  CUmemcpyAttributes attributes[3]{};
  attributes[0].srcAccessOrder = attributes[2].srcAccessOrder = ACCESS_ORDER_STREAM;
  attributes[1].srcAccessOrder = ACCESS_ORDER_DURING_CALL;
  // What was read during the call may change at once, though the copy waits.
  const CUdeviceptr gate = upload({0, 0});
  ASSERT_EQ(launch("wait", s, gate, gate + 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyBatchAsync_v2(to, from, bytes, 3, attributes, first, 3, s), CUDA_SUCCESS);
  source->assign(2, 0);
  EXPECT_EQ(back, Values(2));
  const unsigned one = 1;
  const CUstream opener = own();
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(gate, &one, 4, opener), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(download(b, 4), (Values{2, 3, 40, 41}));
  EXPECT_EQ(back, (Values{0, 1}));
  from[1] = 0;
  EXPECT_EQ(cuMemcpyBatchAsync(to, from, bytes, 3, attributes, first, 3, &failed, s),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, 1u);
  first[0] = 1;
  EXPECT_EQ(cuMemcpyBatchAsync(to, from, bytes, 3, attributes, first, 3, &failed, s),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, ~std::size_t{0});
  first[0] = 0;
  EXPECT_EQ(cuMemcpyBatchAsync(to, from, bytes, 3, attributes, first, 3, &failed, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Copies, OfBoxesInBatches) {
  const CUstream s = own();
  const CUdeviceptr matrix = counted(16), to = upload(Values(4));
  CUDA_MEMCPY3D_BATCH_OP op{};
  op.src.type = op.dst.type = kOperandPointer;
  op.src.op.ptr = {matrix + 20, 16, 0, {}};
  op.dst.op.ptr = {to, 0, 0, {}};
  op.width = 8;
  op.height = 2;
  op.depth = 1;
  op.srcAccessOrder = ACCESS_ORDER_STREAM;
  std::size_t failed = 7;
  EXPECT_EQ(cuMemcpy3DBatchAsync_v2(1, &op, 0, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(download(to, 4), (Values{5, 6, 9, 10}));
  op.src.op.ptr.ptr = matrix;
  EXPECT_EQ(cuMemcpy3DBatchAsync(1, &op, &failed, 0, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(download(to, 4), (Values{0, 1, 4, 5}));
  op.depth = 0;
  EXPECT_EQ(cuMemcpy3DBatchAsync(1, &op, &failed, 0, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(cuMemcpy3DBatchAsync_v2(0, nullptr, 0, s), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Copies, OfArraysAreBoundedByTheArray) {
  CUarray line = nullptr, plane = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR flat{8, 0, 0, FORMAT_UNSIGNED_INT32, 1, 0};
  const CUDA_ARRAY3D_DESCRIPTOR wide{5, 4, 0, FORMAT_UNSIGNED_INT32, 1, 0};
  ASSERT_EQ(cuArray3DCreate_v2(&line, &flat), CUDA_SUCCESS);
  ASSERT_EQ(cuArray3DCreate_v2(&plane, &wide), CUDA_SUCCESS);
  const CUdeviceptr a = counted(8);
  Values back(8);
  EXPECT_EQ(cuMemcpyDtoA_v2(line, 0, a, 32), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAtoH_v2(back.data(), line, 8, 24), CUDA_SUCCESS);
  EXPECT_EQ(back, (Values{2, 3, 4, 5, 6, 7, 0, 0}));
  const Values two{50, 51};
  EXPECT_EQ(cuMemcpyHtoA_v2(line, 4, two.data(), 8), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAtoD_v2(a, line, 0, 16), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 5), (Values{0, 50, 51, 3, 4}));
  EXPECT_EQ(cuMemcpyAtoA_v2(line, 16, line, 4, 8), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  const CUstream s = own();
  EXPECT_EQ(cuMemcpyHtoAAsync_v2(line, 0, two.data(), 4, s), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAtoHAsync_v2(back.data(), line, 0, 32, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(back, (Values{50, 50, 51, 3, 50, 51, 6, 7}));
  EXPECT_EQ(cuMemcpyAtoH_v2(back.data(), line, 8, 28), CUDA_ERROR_INVALID_VALUE);
  if (!on_hardware()) EXPECT_EQ(cuMemcpyHtoA_v2(line, 36, two.data(), 0), CUDA_ERROR_INVALID_VALUE);
  if (!on_hardware())
    EXPECT_EQ(cuMemcpyHtoA_v2(reinterpret_cast<CUarray>(a), 0, two.data(), 4), CUDA_ERROR_INVALID_HANDLE);

  CUDA_MEMCPY2D p{};
  p.srcMemoryType = MEMORYTYPE_UNIFIED;
  p.srcDevice = a;
  p.srcPitch = 8;
  p.dstMemoryType = MEMORYTYPE_ARRAY;
  p.dstArray = plane;
  p.dstXInBytes = 12;
  p.dstY = 2;
  p.WidthInBytes = 8;
  p.Height = 2;
  EXPECT_EQ(cuMemcpy2D_v2(&p), CUDA_SUCCESS);
  CUDA_MEMCPY3D_BATCH_OP op{};
  op.src.type = kOperandArray;
  op.src.op.array = {plane, 3, 2, 0};
  op.dst.type = kOperandPointer;
  op.dst.op.ptr = {reinterpret_cast<CUdeviceptr>(back.data()), 3, 0, {}};
  op.width = op.height = 2;
  op.depth = 1;
  op.srcAccessOrder = ACCESS_ORDER_STREAM;
  back.assign(8, 9);
  EXPECT_EQ(cuMemcpy3DBatchAsync_v2(1, &op, 0, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(back, (Values{0, 50, 9, 51, 3, 9, 9, 9}));
  p.dstY = 3;
  EXPECT_EQ(cuMemcpy2D_v2(&p), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuArrayDestroy(line), CUDA_SUCCESS);
  EXPECT_EQ(cuArrayDestroy(plane), CUDA_SUCCESS);
}

TEST_F(Copies, LongOnesAreCompleteAndExact) {
  constexpr std::size_t kCount = (3 << 20) / 4 + 1;
  Values host(kCount), back(kCount);
  std::iota(host.begin(), host.end(), 5u);
  const CUdeviceptr a = upload(host);
  EXPECT_EQ(cuMemcpyDtoH_v2(back.data(), a, kCount * 4), CUDA_SUCCESS);
  EXPECT_EQ(back, host);
  EXPECT_EQ(cuMemsetD32_v2(a, 0x12345678, kCount - 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH_v2(back.data(), a, kCount * 4), CUDA_SUCCESS);
  EXPECT_EQ(std::vector(back.begin(), back.end() - 1), Values(kCount - 1, 0x12345678));
  EXPECT_EQ(back.back(), host.back());
}

TEST_F(Copies, FillsOfRowsLeaveWhatIsBetween) {
  const CUdeviceptr a = upload(Values(8));
  EXPECT_EQ(cuMemsetD2D8_v2(a, 16, 0xab, 3, 2), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 8), (Values{0xababab, 0, 0, 0, 0xababab, 0, 0, 0}));
  EXPECT_EQ(cuMemsetD2D16_v2(a + 4, 16, 0x1234, 3, 2), CUDA_SUCCESS);
  EXPECT_EQ(download(a + 4, 5), (Values{0x12341234, 0x1234, 0, 0xababab, 0x12341234}));
  EXPECT_EQ(cuMemsetD2D32_v2(a, 16, 7, 1, 2), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 5), (Values{7, 0x12341234, 0x1234, 0, 7}));
  const CUstream s = own();
  EXPECT_EQ(cuMemsetD2D8Async(a, 16, 1, 4, 2, s), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD2D16Async(a + 4, 16, 2, 2, 2, s), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD2D32Async(a + 8, 16, 3, 2, 2, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 8), (Values{0x01010101, 0x00020002, 3, 3, 0x01010101, 0x00020002, 3, 3}));
  EXPECT_EQ(cuMemsetD2D32_v2(a, 4, 0, 2, 2), CUDA_ERROR_INVALID_VALUE);   // rows overlap
  EXPECT_EQ(cuMemsetD2D32_v2(a, 16, 0, 2, 3), CUDA_ERROR_INVALID_VALUE);  // past the end
  EXPECT_EQ(cuMemsetD2D32_v2(a + 2, 16, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
  if (!on_hardware())  // which begins
    EXPECT_EQ(cuMemsetD2D32_v2(a, 16, 0, 1, ~std::size_t{0} / 8), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace raddle::driver
