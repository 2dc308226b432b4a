// Selection costs O(levels + SMs): searches count with loops that compilers vectorise, and the masks are made
// from the last level upwards, each from the one below it, as its SMs are among that one's.
#include "machine/distributor/lake.h"

#include "base/assert.h"

namespace raddle::machine {
namespace {
constexpr std::uint32_t kShallow = 8;  // scanning takes no more steps than this

std::uint32_t most(std::span<const std::uint32_t> free) {
  std::uint32_t depth = 0;
  for (const std::uint32_t slots : free) depth = std::max(depth, slots);
  return depth;
}

std::uint64_t count_reaching(std::span<const std::uint32_t> free, std::uint32_t level) {
  std::uint32_t count = 0;
  for (const std::uint32_t slots : free) count += slots >= level ? 1 : 0;
  return count;
}

/// CTAs that fit while every SM keeps `bottom` slots.
std::uint64_t volume(std::span<const std::uint32_t> free, std::uint32_t bottom) {
  std::uint64_t ctas = 0;
  for (const std::uint32_t slots : free) ctas += slots > bottom ? slots - bottom : 0;
  return ctas;
}

WaterLevel scan(std::span<const std::uint32_t> free, std::uint64_t ctas, std::uint32_t depth,
                std::uint64_t top) {
  WaterLevel water{.depth = depth, .bottom = depth};
  std::uint64_t layer = top;
  while (water.bottom != 0 && water.ctas < ctas) {
    ++water.steps;
    if (water.bottom != depth) layer = count_reaching(free, water.bottom);
    if (layer > ctas - water.ctas) {
      water.rest = ctas - water.ctas;
      water.ctas = ctas;
      break;
    }
    water.ctas += layer;
    --water.bottom;
  }
  return water;
}

WaterLevel bisect(std::span<const std::uint32_t> free, std::uint64_t ctas, std::uint32_t depth) {
  WaterLevel water{.depth = depth};
  std::uint64_t low = 0, high = std::uint64_t{depth} + 1;  // heights: of the first, the volume fits
  while (high - low > 1 && water.ctas < ctas) {
    const std::uint64_t height = (low + high) / 2;
    const std::uint64_t poured = volume(free, static_cast<std::uint32_t>(depth - height));
    ++water.steps;
    (poured > ctas ? high : low) = height;
    if (poured <= ctas) water.ctas = poured;
  }
  water.bottom = static_cast<std::uint32_t>(depth - low);
  if (water.bottom != 0) {
    water.rest = ctas - water.ctas;
    water.ctas = ctas;
  }
  return water;
}

/// The SMs of the last level: the first `rest` SMs that reach it.
void append_last_level(std::span<const std::uint32_t> free, const WaterLevel& water, std::uint32_t* sms) {
  std::uint64_t before = 0;
  for (std::uint32_t sm = 0; before < water.rest; ++sm) {
    sms[before] = sm;
    before += free[sm] >= water.bottom ? 1 : 0;
  }
}

/// Writes the SMs of `from` that reach `level`, backwards, ending at `end` and never before `begin`.
/// @param from  null: all, by index
/// @returns their begin
std::uint32_t* reaching_backwards(std::span<const std::uint32_t> free, std::uint32_t level,
                                  const std::uint32_t* from, std::size_t count, std::uint32_t* begin,
                                  std::uint32_t* end) {
  for (std::size_t i = count; i > 0 && end > begin; --i) {
    const std::uint32_t sm = from == nullptr ? static_cast<std::uint32_t>(i - 1) : from[i - 1];
    end[-1] = sm;
    end -= free[sm] >= level ? 1 : 0;
  }
  return end;
}
}  // namespace

WaterLevel scan_levels(std::span<const std::uint32_t> free, std::uint64_t ctas) {
  const std::uint32_t depth = most(free);
  return scan(free, ctas, depth, count_reaching(free, depth));
}

WaterLevel bisect_height(std::span<const std::uint32_t> free, std::uint64_t ctas) {
  return bisect(free, ctas, most(free));
}

WaterLevel find_water_level(std::span<const std::uint32_t> free, std::uint64_t ctas) {
  const std::uint32_t depth = most(free);
  const std::uint64_t top = count_reaching(free, depth);
  return depth <= kShallow || ctas <= top ? scan(free, ctas, depth, top) : bisect(free, ctas, depth);
}

void append_levels(std::span<const std::uint32_t> free, const WaterLevel& water, std::uint32_t offset,
                   Placement& placement) {
  const std::uint32_t whole = water.depth - water.bottom;
  const std::size_t first_sm = placement.sms.size(), first_mask = placement.masks.size();
  placement.sms.resize(first_sm + water.ctas);
  placement.masks.resize(first_mask + whole + (water.rest != 0 ? 1 : 0));
  std::uint32_t* const all = placement.sms.data();
  std::uint32_t* const begin = all + first_sm;
  std::uint32_t* end = begin + water.ctas;
  SmMask* mask = placement.masks.data() + placement.masks.size();
  const auto add_mask = [&](const std::uint32_t* from, const std::uint32_t* to) {
    *--mask = {static_cast<std::uint32_t>(from - all), static_cast<std::uint32_t>(to - from), 0, false};
  };
  if (water.rest != 0) {
    append_last_level(free, water, end - water.rest);
    add_mask(end - water.rest, end);
    end -= water.rest;
  }
  const std::uint32_t* below = nullptr;
  std::size_t count = free.size();
  for (std::uint32_t level = water.bottom + 1; level <= water.depth; ++level) {
    std::uint32_t* const from = reaching_backwards(free, level, below, count, begin, end);
    add_mask(from, end);
    below = from;
    count = static_cast<std::size_t>(end - from);
    end = from;
  }
  RADDLE_ASSERT(end == begin, "the levels of the lake do not add up to its volume");
  if (offset != 0)
    for (std::uint32_t* sm = begin; sm != all + placement.sms.size(); ++sm) *sm += offset;
}

}  // namespace raddle::machine
