// Inputs and comparisons shared by the examples.
#include "example.h"

#include <fmt/format.h>

namespace examples {
namespace {

std::uint32_t next(std::uint64_t& state) {  // splitmix64
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
}

CheckResult size_mismatch(std::size_t got, std::size_t want) {
  return {false, 0, fmt::format("{} results instead of {}", got, want)};
}

}  // namespace

std::vector<float> random_floats(std::uint32_t seed, std::size_t count, float low, float high) {
  std::uint64_t state = seed;
  std::vector<float> values(count);
  for (float& value : values) value = low + (high - low) * static_cast<float>(next(state) >> 8) * 0x1p-24f;
  return values;
}

std::vector<std::uint32_t> random_words(std::uint32_t seed, std::size_t count) {
  std::uint64_t state = seed;
  std::vector<std::uint32_t> values(count);
  for (std::uint32_t& value : values) value = next(state);
  return values;
}

CheckResult check_floats(const std::vector<float>& got, const std::vector<double>& want, double relative,
                         double absolute) {
  if (got.size() != want.size()) return size_mismatch(got.size(), want.size());
  CheckResult result;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - want[i]);
    if (!(error <= relative * std::abs(want[i]) + absolute)) {
      return {false, error, fmt::format("element {}: {} instead of {}", i, got[i], want[i])};
    }
    result.max_error = std::max(result.max_error, error);
  }
  return result;
}

CheckResult check_words(const std::vector<std::uint32_t>& got, const std::vector<std::uint32_t>& want) {
  if (got.size() != want.size()) return size_mismatch(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] != want[i]) return {false, 0, fmt::format("element {}: {} instead of {}", i, got[i], want[i])};
  }
  return {};
}

}  // namespace examples
