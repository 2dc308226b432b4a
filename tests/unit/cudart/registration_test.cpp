// What nvcc's code calls: registration, launches, kernels and variables by their stand-ins.
#include "cudart_test.h"

namespace raddle::cudart {
namespace {

TEST_F(Runtime, LaunchesAKernelAsAStubDoes) {
  int* data;
  OK(cudaMallocManaged(reinterpret_cast<void**>(&data), 64 * sizeof(int), cudaMemAttachGlobal));
  for (int i = 0; i < 64; ++i) data[i] = i;
  ASSERT_EQ(__cudaPushCallConfiguration(dim3(2), dim3(32), 0, nullptr), 0u);
  ASSERT_EQ(__cudaPushCallConfiguration(dim3(5), dim3(6), 7, cudaStreamPerThread),
            0u);  // arguments launch, too
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
  OK(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
  EXPECT_EQ(grid.x, 5u);
  EXPECT_EQ(block.x, 6u);
  EXPECT_EQ(shared_bytes, 7u);
  EXPECT_EQ(stream, cudaStreamPerThread);
  OK(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream), cudaErrorMissingConfiguration);
  cudaKernel_t kernel;
  OK(__cudaGetKernel(&kernel, &scale));
  unsigned three = 3;
  void* arguments[] = {&data, &three};
  OK(__cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream));
  OK(__cudaLaunchKernel_ptsz(kernel, grid, block, arguments, shared_bytes, stream));
  OK(cudaDeviceSynchronize());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(data[i], 9 * i);
  OK(cudaFree(data));
}

TEST_F(Runtime, RefusesKernelsThatThereAreNot) {
  cudaKernel_t kernel;
  EXPECT_EQ(__cudaGetKernel(&kernel, this), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(__cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(&absent, dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
}

TEST_F(Runtime, RefusesGridsAndBlocksThatNoDeviceCouldRun) {
  EXPECT_EQ(launch_scale(nullptr, 1, dim3(0), dim3(1)), cudaErrorInvalidValue);
  EXPECT_EQ(launch_scale(nullptr, 1, dim3(1), dim3(1025)), cudaErrorInvalidValue);
  EXPECT_EQ(launch_scale(nullptr, 1, dim3(1), dim3(32, 33)), cudaErrorInvalidValue);
  EXPECT_EQ(launch_scale(nullptr, 1, dim3(1, 65536), dim3(1)), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLaunchKernel(&stop, dim3(1), dim3(1), nullptr, 1 << 20, nullptr), cudaErrorInvalidValue);
}

TEST_F(Runtime, VariablesHaveAddressesAndSizes) {
  int value = 0;
  OK(cudaMemcpyFromSymbol(&value, &total, 4, 0, cudaMemcpyDeviceToHost));
  EXPECT_EQ(value, 5);
  const int numbers[] = {1, 2, 3, 4};
  OK(cudaMemcpyToSymbol(&table, numbers, 8, 8, cudaMemcpyHostToDevice));
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  OK(cudaMemcpyToSymbolAsync(&table, numbers + 2, 8, 0, cudaMemcpyHostToDevice, stream));
  int read[4] = {};
  OK(cudaMemcpyFromSymbolAsync(read, &table, 16, 0, cudaMemcpyDefault, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(std::vector(read, read + 4), (std::vector{3, 4, 1, 2}));
  std::size_t bytes = 0;
  OK(cudaGetSymbolSize(&bytes, &table));
  EXPECT_EQ(bytes, 16u);
  void* address = nullptr;
  OK(cudaGetSymbolAddress(&address, &total));
  OK(cudaMemset(address, 1, 4));
  OK(cudaMemcpyFromSymbol(&value, &total, 4, 0, cudaMemcpyDeviceToHost));
  EXPECT_EQ(value, 0x01010101);
  EXPECT_EQ(cudaMemcpyToSymbol(&table, numbers, 16, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(&table, numbers, 16, 0, cudaMemcpyDeviceToHost),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGetSymbolAddress(&address, this), cudaErrorInvalidSymbol);
}

TEST_F(Runtime, ManagedVariablesArePlacedBeforeTheirFirstUse) {
  EXPECT_EQ(both, nullptr);
  ASSERT_NE(__cudaInitModule(binary), 0);
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(*static_cast<int*>(both), 7);
  std::size_t bytes = 0;
  OK(cudaGetSymbolSize(&bytes, both));  // generated code names a managed variable by its address
  EXPECT_EQ(bytes, 4u);
  OK(launch_scale(both, 6, dim3(1), dim3(1)));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(*static_cast<int*>(both), 42);
}

TEST_F(Runtime, AProgramsEndTakesItsKernelsAway) {
  Wrapper other_wrapper(kPtx);
  char other = 0;
  void** handle = __cudaRegisterFatBinary(other_wrapper.get());
  __cudaRegisterFunction(handle, &other, const_cast<char*>("stop"), "stop", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  cudaFunction_t function;
  OK(cudaGetFuncBySymbol(&function, &other));
  __cudaUnregisterFatBinary(handle);
  EXPECT_EQ(cudaGetFuncBySymbol(&function, &other), cudaErrorInvalidDeviceFunction);
}

TEST_F(Runtime, RefusesWhatIsNoCode) {
  Wrapper broken("this is no PTX");
  char kernel = 0;
  void** handle = __cudaRegisterFatBinary(broken.get());
  __cudaRegisterFunction(handle, &kernel, const_cast<char*>("kernel"), "kernel", -1, nullptr, nullptr,
                         nullptr, nullptr, nullptr);
  EXPECT_EQ(cudaLaunchKernel(&kernel, dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidPtx);
  __cudaUnregisterFatBinary(handle);
}

TEST_F(Runtime, FaultsStayUntilTheDeviceIsReset) {
  OK(cudaLaunchKernel(&stop, dim3(1), dim3(1), nullptr, 0, nullptr));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  void* memory;
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  OK(cudaDeviceReset());
  OK(cudaMalloc(&memory, 4));
  OK(cudaMemset(memory, 0, 4));
  OK(launch_scale(memory, 2, dim3(1), dim3(1)));
  OK(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace raddle::cudart
