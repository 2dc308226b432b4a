// The machines, options and grid kinds of random events: any numbers make some.
#pragma once

#include <cstdint>

#include "machine/distributor/distributor.h"

namespace raddle::machine::testing {

inline constexpr CtaNeeds kRandomNeeds[] = {
    {.threads = 32},
    {.threads = 256, .warps = 8, .registers = 8192},
    {.threads = 128, .warps = 4, .barriers = 16},
    {.threads = 130, .warps = 5},
    {.threads = 96, .warps = 3, .barriers = 1, .registers = 3 * 1280, .shared_bytes = 40u << 10},
    {.threads = 1024, .warps = 32, .registers = 65536},
    {.threads = 64, .warps = 2, .shared_bytes = 227u << 10},
};

/// GPCs of one or two CPCs of a few TPCs of one or two SMs, unlike siblings.
inline MachineShape make_shape(std::uint32_t numbers, std::uint32_t limits) {
  MachineShape shape;
  const auto next = [&numbers](std::uint32_t below) {
    const std::uint32_t number = numbers % below;
    numbers = numbers / below + numbers % 7 * 0x9e3779b9u;
    return number;
  };
  shape.open(Level::set), shape.open(Level::gpu);
  for (std::uint32_t ugpus = 1 + next(2); ugpus != 0; --ugpus) {
    shape.open(Level::ugpu);
    for (std::uint32_t gpcs = 1 + next(2); gpcs != 0; --gpcs) {
      shape.open(Level::gpc);
      for (std::uint32_t cpcs = 1 + next(2); cpcs != 0; --cpcs) {
        shape.open(Level::cpc);
        for (std::uint32_t tpcs = 1 + next(3); tpcs != 0; --tpcs) {
          shape.open(Level::tpc), shape.add_sms(1 + next(2)), shape.close(Level::tpc);
        }
        shape.close(Level::cpc);
      }
      shape.close(Level::gpc);
    }
    shape.close(Level::ugpu);
  }
  shape.close(Level::gpu), shape.close(Level::set);
  shape.sm.barriers = 64;  // fewer than fill the other slots
  shape.cluster_ids_per_gpc = limits % 4 * 2;
  shape.sm.cluster_slots = 2 + limits / 4 % 4 * 6;
  shape.cluster_memory_slots = 1 + limits / 16 % 4;
  return shape;
}

inline DistributorOptions make_options(std::uint32_t numbers, std::uint32_t sms) {
  DistributorOptions options{.cap_per_sm = numbers % 3 == 0 ? 1 + numbers / 3 % 8 : 0,
                             .patience = numbers / 24 % 4 * 10,
                             .credits = numbers / 96 % 3 == 0 ? 1 + numbers / 288 % 8 : 0,
                             .ties = TieBreak(numbers / 2304 % 3)};
  options.task_slots = numbers / 55296 % 3 == 0 ? 1 + numbers / 165888 % 4 : 0;
  options.turn = numbers / 663552 % 3 * 10;
  options.preemptive = numbers / 1990656 % 2 == 0;
  options.active_pool = numbers / 3981312 % 3 == 0 ? 1 + numbers / 11943936 % 2 : 0;
  options.pending_pool = numbers / 23887872 % 3 == 0 ? 3 + numbers / 71663616 % 2 : 0;
  options.grid_cap_per_sm = numbers / 6912 % 4 == 0 ? 3 : 0;
  if (numbers / 27648 % 2 == 0)
    for (std::uint32_t sm = sms; sm-- > 0;) options.sm_order.push_back(sm);
  return options;
}

inline GridKind make_kind(std::uint32_t numbers) {
  const auto level = [](Level domain, std::uint32_t x, std::uint32_t y = 1) {
    return ClusterLevel{domain, {x, y, 1}};
  };
  GridKind kind;
  const std::uint32_t few = 1 + numbers / 16 % 4;
  switch (numbers % 16) {
    case 0:
      kind.levels = {level(Level::gpc, few, 2)}, kind.depth = 1;
      break;
    case 1:
      kind.levels = {level(Level::cpc, few)}, kind.depth = 1;
      break;
    case 2:
      kind.levels = {level(Level::tpc, few)}, kind.depth = 1;
      break;
    case 3:
      kind.levels = {level(Level::gpu, few, 5)}, kind.depth = 1;
      break;
    case 4:
      kind.levels = {level(Level::gpc, 2), level(Level::cpc, few)}, kind.depth = 2;
      break;
    case 5:
      kind.levels = {level(Level::gpu, few), level(Level::gpc, 3)}, kind.depth = 2;
      break;
    case 6:
      kind.levels = {level(Level::ugpu, 2), level(Level::cpc, 2), level(Level::sm, 2)}, kind.depth = 3;
      break;
    case 7:
      kind.levels = {level(Level::gpc, few)}, kind.depth = 1, kind.mode = DistributionMode::multicast;
      break;
    case 8:
      kind.levels = {level(Level::gpc, 1)}, kind.depth = 1;
      break;
    default:
      break;  // plain
  }
  return kind;
}

}  // namespace raddle::machine::testing
