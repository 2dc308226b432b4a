// CUB's algorithms of the whole device, each against the C++ standard library's or a loop.
// targets: 75 80 90
// nvcc: --extended-lambda
// slow: a minute of nvcc for each
#include <cub/cub.cuh>

#include <algorithm>
#include <numeric>

#include "program.h"

using Numbers = std::vector<int>;
constexpr int kCount = 6000, kSegments = 6, kSegment = kCount / kSegments;

/// Numbers in device memory.
struct OnDevice {
  explicit OnDevice(std::size_t count) : size(count) { CUDA(cudaMalloc(&data, count * sizeof(int))); }
  OnDevice(const Numbers& values) : OnDevice(values.size()) {
    CUDA(cudaMemcpy(data, values.data(), size * sizeof(int), cudaMemcpyHostToDevice));
  }
  ~OnDevice() { cudaFree(data); }
  OnDevice(const OnDevice&) = delete;
  operator int*() const { return data; }
  Numbers read(std::size_t count) const {
    Numbers values(count);
    CUDA(cudaMemcpy(values.data(), data, count * sizeof(int), cudaMemcpyDeviceToHost));
    return values;
  }
  Numbers read() const { return read(size); }
  int* data = nullptr;
  std::size_t size;
};

/// Every algorithm is called twice: for the size of its workspace, then with one.
template <class Call>
void run(Call&& call) {
  std::size_t bytes = 0;
  void* space = nullptr;
  CUDA(call(nullptr, bytes));
  CUDA(cudaMalloc(&space, std::max<std::size_t>(bytes, 1)));
  CUDA(call(space, bytes));
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaFree(space));
}
#define RUN(function, ...) \
  run([&](void* space, std::size_t& bytes) { return function(space, bytes, __VA_ARGS__); })

struct IsEven {
  __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};
struct Less {
  __host__ __device__ bool operator()(int a, int b) const { return a < b; }
};

Numbers some() {
  Numbers values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = static_cast<int>((i + 3) * 2654435761u % 1000u);
  return values;
}
Numbers segment_offsets() {
  Numbers offsets;
  for (int i = 0; i <= kSegments; ++i) offsets.push_back(i * kSegment);
  return offsets;
}

void reductions(const Numbers& a, const OnDevice& x) {
  const OnDevice out(kSegments), offsets(segment_offsets());
  RUN(cub::DeviceReduce::Sum, x.data, out.data, kCount);
  CHECK(out.read(1)[0] == std::accumulate(a.begin(), a.end(), 0));
  RUN(cub::DeviceReduce::Max, x.data, out.data, kCount);
  CHECK(out.read(1)[0] == *std::max_element(a.begin(), a.end()));
  cub::KeyValuePair<int, int>* least = nullptr;
  CUDA(cudaMallocManaged(&least, sizeof *least));
  RUN(cub::DeviceReduce::ArgMin, x.data, least, kCount);
  CHECK(least->key == std::min_element(a.begin(), a.end()) - a.begin());
  RUN(cub::DeviceSegmentedReduce::Sum, x.data, out.data, kSegments, offsets.data, offsets.data + 1);
  Numbers sums;
  for (int i = 0; i < kSegments; ++i)
    sums.push_back(std::accumulate(a.begin() + i * kSegment, a.begin() + (i + 1) * kSegment, 0));
  CHECK(out.read() == sums);
}

void scans(const Numbers& a, const OnDevice& x) {
  const OnDevice out(kCount);
  Numbers expected(kCount);
  RUN(cub::DeviceScan::ExclusiveSum, x.data, out.data, kCount);
  std::exclusive_scan(a.begin(), a.end(), expected.begin(), 0);
  CHECK(out.read() == expected);
  RUN(cub::DeviceScan::InclusiveSum, x.data, out.data, kCount);
  std::partial_sum(a.begin(), a.end(), expected.begin());
  CHECK(out.read() == expected);
}

void sorts(const Numbers& a, const OnDevice& x) {
  Numbers expected = a, order(kCount);
  std::sort(expected.begin(), expected.end());
  std::iota(order.begin(), order.end(), 0);
  const OnDevice out(kCount), values(order), values_out(kCount), merged(a), offsets(segment_offsets());
  RUN(cub::DeviceRadixSort::SortKeys, x.data, out.data, kCount);
  CHECK(out.read() == expected);
  RUN(cub::DeviceRadixSort::SortPairs, x.data, out.data, values.data, values_out.data, kCount);
  std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return a[i] < a[j]; });
  CHECK(values_out.read() == order);
  RUN(cub::DeviceMergeSort::SortKeys, merged.data, kCount, Less{});
  CHECK(merged.read() == expected);
  RUN(cub::DeviceSegmentedSort::SortKeys, x.data, out.data, kCount, kSegments, offsets.data, offsets.data + 1);
  expected = a;
  for (int i = 0; i < kSegments; ++i)
    std::sort(expected.begin() + i * kSegment, expected.begin() + (i + 1) * kSegment);
  CHECK(out.read() == expected);
}

void selections(const Numbers& a, const OnDevice& x) {
  const OnDevice out(kCount), count(1), counts(kCount);
  Numbers expected;
  RUN(cub::DeviceSelect::If, x.data, out.data, count.data, kCount, IsEven{});
  std::copy_if(a.begin(), a.end(), std::back_inserter(expected), IsEven{});
  CHECK(out.read(count.read()[0]) == expected);
  RUN(cub::DevicePartition::If, x.data, out.data, count.data, kCount, IsEven{});
  CHECK(out.read(count.read()[0]) == expected);
  Numbers ordered = a;
  std::sort(ordered.begin(), ordered.end());
  const OnDevice y(ordered), ones(Numbers(kCount, 1));
  expected = ordered;
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  RUN(cub::DeviceSelect::Unique, y.data, out.data, count.data, kCount);
  CHECK(out.read(count.read()[0]) == expected);
  RUN(cub::DeviceRunLengthEncode::Encode, y.data, out.data, counts.data, count.data, kCount);
  CHECK(out.read(count.read()[0]) == expected);
  const Numbers runs = counts.read(expected.size());
  CHECK(std::accumulate(runs.begin(), runs.end(), 0) == kCount);
  RUN(cub::DeviceReduce::ReduceByKey, y.data, out.data, ones.data, counts.data, count.data, ::cuda::std::plus<>{}, kCount);
  CHECK(counts.read(expected.size()) == runs);
}

void others(const Numbers& a, const OnDevice& x) {
  constexpr int kBins = 10;
  const OnDevice bins(kBins), out(kCount), doubled(a);
  RUN(cub::DeviceHistogram::HistogramEven, x.data, bins.data, kBins + 1, 0, 1000, kCount);
  Numbers expected(kBins);
  for (const int v : a) ++expected[v / 100];
  CHECK(bins.read() == expected);

  CUDA(cub::DeviceFor::ForEachN(doubled.data, kCount, [] __device__(int& v) { v *= 2; }));
  CUDA(cudaDeviceSynchronize());
  expected = a;
  for (int& v : expected) v *= 2;
  CHECK(doubled.read() == expected);

  void **from = nullptr, **to = nullptr;
  unsigned* sizes = nullptr;
  CUDA(cudaMallocManaged(&from, kSegments * sizeof *from));
  CUDA(cudaMallocManaged(&to, kSegments * sizeof *to));
  CUDA(cudaMallocManaged(&sizes, kSegments * sizeof *sizes));
  for (int i = 0; i < kSegments; ++i) {
    from[i] = x.data + i * kSegment;
    to[i] = out.data + (kSegments - 1 - i) * kSegment;
    sizes[i] = kSegment * sizeof(int);
  }
  RUN(cub::DeviceMemcpy::Batched, from, to, sizes, kSegments);
  for (int i = 0; i < kSegments; ++i)
    std::copy_n(a.begin() + i * kSegment, kSegment, expected.begin() + (kSegments - 1 - i) * kSegment);
  CHECK(out.read() == expected);
}

int main() {
  const Numbers a = some();
  const OnDevice x(a);
  reductions(a, x);
  scans(a, x);
  sorts(a, x);
  selections(a, x);
  others(a, x);
}
