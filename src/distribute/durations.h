// How long the CTAs of a grid run in a simulation: a pure function of the launch index, so that a CTA takes
// as long under every policy and on every SM, and two runs are alike.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace raddle::distribute {

/// In the load's unit of time; never 0.
struct Durations {
  enum class Kind : std::uint8_t {
    constant,     ///< `first`
    uniform,      ///< `first` to `second`, both included
    exponential,  ///< of mean `first`
    normal,       ///< of mean `first` and standard deviation `second`
    list,         ///< by launch index, from the start again where it ends: a recorded grid
  };
  Kind kind = Kind::constant;
  std::uint64_t first = 1, second = 0;
  std::uint64_t seed = 1;
  std::shared_ptr<const std::vector<std::uint64_t>> list;

  std::uint64_t of(std::uint64_t index) const {
    if (kind == Kind::constant) return first;
    if (kind == Kind::list) return (*list)[index < list->size() ? index : index % list->size()];
    return drawn(index);
  }

 private:
  std::uint64_t drawn(std::uint64_t index) const;
};

/// Bits that look random, from a seed and a number (splitmix64): the only source of chance of loads.
inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t number) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15 + (number + 1) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
/// In (0, 1].
inline double mixed_unit(std::uint64_t seed, std::uint64_t number) {
  return (static_cast<double>(mixed(seed, number) >> 11) + 1) * 0x1p-53;
}
/// Exponentially distributed of a mean, rounded to a whole number; at most 60 times the mean.
std::uint64_t mixed_exponential(std::uint64_t mean, std::uint64_t seed, std::uint64_t number);

}  // namespace raddle::distribute
