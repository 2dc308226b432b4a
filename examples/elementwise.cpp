// Examples with one independent result per thread: vector_add, saxpy, black_scholes.
#include "example.h"

namespace examples {
namespace {

Example vector_add(Size size, unsigned threads) {
  const int n = size == Size::small ? 10007 : 4000003;
  const std::vector<float> a = random_floats(1, n, -1, 1), b = random_floats(2, n, -1, 1);
  Example example{"vector_add", "vector_add", {to_bytes(a), to_bytes(b), unwritten(n * sizeof(float))}};
  example.steps = {{"vector_add",
                    {blocks_for(n, threads), 1, 1},
                    {threads, 1, 1},
                    {BufferRef{0}, BufferRef{1}, BufferRef{2}, n}}};
  example.work = 12e-9 * n;
  example.unit = "GB/s";
  example.check = [a, b](const std::vector<Bytes>& results) {
    std::vector<double> want(a.size());
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = a[i] + b[i];  // one addition: exact
    return check_floats(from_bytes<float>(results[2]), want, 0, 0);
  };
  return example;
}

Example saxpy(Size size, unsigned threads) {
  const int n = size == Size::small ? 10007 : 4000003;
  const float factor = 2.5f;
  const std::vector<float> x = random_floats(3, n, -1, 1), y = random_floats(4, n, -1, 1);
  Example example{"saxpy", "saxpy", {to_bytes(x), to_bytes(y)}};
  example.steps = {
      {"saxpy", {blocks_for(n, threads), 1, 1}, {threads, 1, 1}, {n, factor, BufferRef{0}, BufferRef{1}}}};
  example.work = 12e-9 * n;
  example.unit = "GB/s";
  example.check = [x, y, factor](const std::vector<Bytes>& results) {
    std::vector<double> want(x.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      want[i] = std::fma(factor, x[i], y[i]);  // as nvcc fuses it: exact
    return check_floats(from_bytes<float>(results[1]), want, 0, 0);
  };
  return example;
}

struct Prices {
  double call, put;
};

Prices exact_prices(double s, double x, double t, double rate, double volatility) {
  const auto normal_cdf = [](double d) { return 0.5 * std::erfc(-d * 0.70710678118654752440); };
  const double spread = volatility * std::sqrt(t);
  const double d1 = (std::log(s / x) + (rate + 0.5 * volatility * volatility) * t) / spread;
  const double n1 = normal_cdf(d1), n2 = normal_cdf(d1 - spread), discounted = x * std::exp(-rate * t);
  return {s * n1 - discounted * n2, discounted * (1 - n2) - s * (1 - n1)};
}

Example black_scholes(Size size, unsigned threads) {
  const int n = size == Size::small ? 5003 : 1000003;
  const float rate = 0.02f, volatility = 0.3f;
  const std::vector<float> price = random_floats(5, n, 5, 30), strike = random_floats(6, n, 1, 100),
                           years = random_floats(7, n, 0.25f, 10);
  Example example{"black_scholes",
                  "black_scholes",
                  {to_bytes(price), to_bytes(strike), to_bytes(years), unwritten(n * sizeof(float)),
                   unwritten(n * sizeof(float))}};
  example.steps = {
      {"black_scholes",
       {blocks_for(n, threads), 1, 1},
       {threads, 1, 1},
       {BufferRef{0}, BufferRef{1}, BufferRef{2}, BufferRef{3}, BufferRef{4}, rate, volatility, n}}};
  example.work = 1e-6 * n;
  example.unit = "Moption/s";
  example.check = [=](const std::vector<Bytes>& results) {
    std::vector<double> calls(n), puts(n);
    for (int i = 0; i < n; ++i) {
      const Prices prices = exact_prices(price[i], strike[i], years[i], rate, volatility);
      calls[i] = prices.call, puts[i] = prices.put;
    }
    const CheckResult call = check_floats(from_bytes<float>(results[3]), calls, 1e-4, 1e-3);
    if (!call.ok) return call;
    CheckResult put = check_floats(from_bytes<float>(results[4]), puts, 1e-4, 1e-3);
    put.max_error = std::max(put.max_error, call.max_error);
    return put;
  };
  return example;
}

}  // namespace

std::vector<Example> make_elementwise_examples(Size size, unsigned threads) {
  return {vector_add(size, threads), saxpy(size, threads), black_scholes(size, threads)};
}

}  // namespace examples
