// Thrust by `raddle cc`, against the host's algorithms.
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#include <algorithm>
#include <numeric>

#include "check.h"

struct Square {
  __host__ __device__ long long operator()(int x) const { return (long long)x * x; }
};

int main() {
  const int count = 5000;
  std::vector<int> numbers(count);
  unsigned state = 7;
  for (int& number : numbers) number = (int)((state = state * 1664525 + 1013904223) >> 12) - (1 << 19);
  thrust::device_vector<int> device(numbers.begin(), numbers.end());
  auto is = [](const auto& vector, const auto& wanted) {
    return vector.size() == wanted.size() && std::equal(wanted.begin(), wanted.end(), thrust::host_vector<typename std::decay_t<decltype(vector)>::value_type>(vector).begin());
  };

  long long squares = 0;
  for (int number : numbers) squares += (long long)number * number;
  check(thrust::transform_reduce(device.begin(), device.end(), Square(), 0ll, thrust::plus<long long>()) == squares, "transform_reduce");
  check(thrust::reduce(device.begin(), device.end(), -(1 << 30), thrust::maximum<int>()) == *std::max_element(numbers.begin(), numbers.end()), "reduce");

  std::vector<int> sums(count);
  std::partial_sum(numbers.begin(), numbers.end(), sums.begin());
  thrust::device_vector<int> scanned(count);
  thrust::inclusive_scan(device.begin(), device.end(), scanned.begin());
  check(is(scanned, sums), "inclusive_scan");

  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  thrust::device_vector<int> keys = device, values(order.begin(), order.end());
  thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin());
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return numbers[a] < numbers[b]; });
  check(is(values, order), "stable_sort_by_key");
  thrust::sort(device.begin(), device.end(), [] __device__(int a, int b) { return (a & 1023) != (b & 1023) ? (a & 1023) > (b & 1023) : a < b; });
  std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return (a & 1023) != (b & 1023) ? (a & 1023) > (b & 1023) : a < b; });
  check(is(device, numbers), "sort by a lambda");
  return finish();
}
