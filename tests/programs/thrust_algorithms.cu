// Thrust's algorithms, each against the C++ standard library's or a loop.
// targets: 75 80 90
// slow: a minute of nvcc for each
#include <thrust/binary_search.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#include <algorithm>
#include <numeric>

#include "program.h"

using Numbers = std::vector<int>;
using OnDevice = thrust::device_vector<int>;

constexpr int kCount = 5000;

struct IsEven {
  __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};
struct Square {
  __host__ __device__ long long operator()(int x) const { return 1LL * x * x; }
};

Numbers read(const OnDevice& from, std::size_t count) {
  Numbers values(count);
  thrust::copy_n(from.begin(), count, values.begin());
  return values;
}
Numbers read(const OnDevice& from) { return read(from, from.size()); }

Numbers some(int seed) {
  Numbers values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = static_cast<int>((i + seed) * 2654435761u % 3000u);
  return values;
}
Numbers sorted(Numbers values) {
  std::sort(values.begin(), values.end());
  return values;
}

void reductions(const Numbers& a, const OnDevice& x) {
  CHECK(thrust::reduce(x.begin(), x.end()) == std::accumulate(a.begin(), a.end(), 0));
  long long squares = 0;
  for (const int v : a) squares += 1LL * v * v;
  CHECK(thrust::transform_reduce(x.begin(), x.end(), Square{}, 0LL, thrust::plus<long long>{}) == squares);
  CHECK(thrust::inner_product(x.begin(), x.end(), x.begin(), 0LL) == squares);
  CHECK(thrust::count_if(x.begin(), x.end(), IsEven{}) == std::count_if(a.begin(), a.end(), IsEven{}));
  const auto [least, most] = thrust::minmax_element(x.begin(), x.end());
  CHECK(least - x.begin() == std::min_element(a.begin(), a.end()) - a.begin());
  CHECK(*most == *std::max_element(a.begin(), a.end()));
}

void scans(const Numbers& a, const OnDevice& x) {
  OnDevice out(kCount);
  Numbers expected(kCount);
  thrust::inclusive_scan(x.begin(), x.end(), out.begin());
  std::partial_sum(a.begin(), a.end(), expected.begin());
  CHECK(read(out) == expected);
  thrust::exclusive_scan(x.begin(), x.end(), out.begin(), 7);
  std::exclusive_scan(a.begin(), a.end(), expected.begin(), 7);
  CHECK(read(out) == expected);
}

void orders(const Numbers& a, const Numbers& b, const OnDevice& x) {
  OnDevice y = x;
  thrust::sort(y.begin(), y.end());
  CHECK(read(y) == sorted(a));
  thrust::sort(y.begin(), y.end(), thrust::greater<int>{});
  Numbers expected = sorted(a);
  std::reverse(expected.begin(), expected.end());
  CHECK(read(y) == expected);
  OnDevice keys = x, values(kCount);
  thrust::sequence(values.begin(), values.end());
  thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin());
  Numbers order(kCount);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return a[i] < a[j]; });
  CHECK(read(values) == order);

  const Numbers p = sorted(a), q = sorted(b);
  const OnDevice dp = p, dq = q;
  OnDevice out(2 * kCount);
  Numbers together(2 * kCount);
  thrust::merge(dp.begin(), dp.end(), dq.begin(), dq.end(), out.begin());
  std::merge(p.begin(), p.end(), q.begin(), q.end(), together.begin());
  CHECK(read(out) == together);
  Numbers common, united, less;
  std::set_intersection(p.begin(), p.end(), q.begin(), q.end(), std::back_inserter(common));
  std::set_union(p.begin(), p.end(), q.begin(), q.end(), std::back_inserter(united));
  std::set_difference(p.begin(), p.end(), q.begin(), q.end(), std::back_inserter(less));
  CHECK(thrust::set_intersection(dp.begin(), dp.end(), dq.begin(), dq.end(), out.begin()) - out.begin() ==
        static_cast<long>(common.size()));
  CHECK(read(out, common.size()) == common);
  thrust::set_union(dp.begin(), dp.end(), dq.begin(), dq.end(), out.begin());
  CHECK(read(out, united.size()) == united);
  thrust::set_difference(dp.begin(), dp.end(), dq.begin(), dq.end(), out.begin());
  CHECK(read(out, less.size()) == less);
  thrust::lower_bound(dp.begin(), dp.end(), x.begin(), x.end(), out.begin());
  Numbers places;
  for (const int v : a) places.push_back(static_cast<int>(std::lower_bound(p.begin(), p.end(), v) - p.begin()));
  CHECK(read(out, kCount) == places);
}

void selections(const Numbers& a, const OnDevice& x) {
  OnDevice y = x;
  Numbers expected = a;
  auto end = thrust::remove_if(y.begin(), y.end(), IsEven{});
  expected.erase(std::remove_if(expected.begin(), expected.end(), IsEven{}), expected.end());
  CHECK(end - y.begin() == static_cast<long>(expected.size()));
  CHECK(read(y, expected.size()) == expected);
  y = x;
  thrust::stable_partition(y.begin(), y.end(), IsEven{});
  expected = a;
  std::stable_partition(expected.begin(), expected.end(), IsEven{});
  CHECK(read(y) == expected);
  const Numbers p = sorted(a);
  y = OnDevice(p);
  end = thrust::unique(y.begin(), y.end());
  expected = p;
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  CHECK(read(y, end - y.begin()) == expected);
  const OnDevice keys = p, ones(kCount, 1);
  OnDevice found(kCount), counts(kCount);
  const auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), ones.begin(), found.begin(), counts.begin());
  CHECK(read(found, ends.first - found.begin()) == expected);
  CHECK(thrust::reduce(counts.begin(), ends.second) == kCount);
}

void moves(const Numbers& a, const OnDevice& x) {
  OnDevice map(kCount), out(kCount), back(kCount);
  thrust::sequence(map.begin(), map.end(), kCount - 1, -1);
  thrust::gather(map.begin(), map.end(), x.begin(), out.begin());
  CHECK(read(out) == Numbers(a.rbegin(), a.rend()));
  thrust::scatter(out.begin(), out.end(), map.begin(), back.begin());
  CHECK(read(back) == a);
  thrust::transform(x.begin(), x.end(), x.begin(), out.begin(), thrust::plus<int>{});
  Numbers expected;
  for (const int v : a) expected.push_back(2 * v);
  CHECK(read(out) == expected);
  thrust::fill(out.begin(), out.end(), 3);
  CHECK(read(out) == Numbers(kCount, 3));
}

int main() {
  const Numbers a = some(1), b = some(77);
  const OnDevice x = a;
  reductions(a, x);
  scans(a, x);
  orders(a, b, x);
  selections(a, x);
  moves(a, x);
}
