// Made-up streams of grids: arrivals at even or random distances, each grid drawn from a mix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "distribute/load.h"

namespace raddle::distribute {

struct Generator {
  struct Part {
    std::uint64_t weight = 1;
    LoadGrid grid;  ///< arrival and seed of its durations are drawn
  };
  std::string name;  ///< prefix of the grids' names
  std::uint64_t seed = 1, start = 0, count = 0;
  bool poisson = false;        ///< distances are exponential of mean `interval`, else equal to it
  std::uint64_t interval = 0;  ///< in the load's unit
  std::vector<Part> mix;
};

/// Appends its grids. @returns false if one would arrive after kMostTime
bool generate(const Generator& generator, std::vector<LoadGrid>& grids);

}  // namespace raddle::distribute
