// Each choice has a stream of random numbers of its own, so that a longer load starts like a shorter one.
#include "distribute/generator.h"

#include <fmt/format.h>

namespace raddle::distribute {
namespace {

const Generator::Part& draw(const Generator& generator, std::uint64_t total, std::uint64_t number) {
  std::uint64_t ticket = mixed(generator.seed ^ 0x6d6978, number) % total;
  for (const Generator::Part& part : generator.mix) {
    if (ticket < part.weight) return part;
    ticket -= part.weight;
  }
  return generator.mix.back();
}

}  // namespace

bool generate(const Generator& generator, std::vector<LoadGrid>& grids) {
  std::uint64_t total = 0, time = generator.start;
  for (const Generator::Part& part : generator.mix) total += part.weight;
  for (std::uint64_t i = 0; i < generator.count; ++i) {
    if (time > kMostTime) return false;
    LoadGrid grid = draw(generator, total, i).grid;
    grid.arrival = time;
    grid.durations.seed = mixed(grid.durations.seed ^ generator.seed, i);
    const std::string suffix = grid.name.empty() ? "" : " " + grid.name;
    grid.name = fmt::format("{}{} {}", generator.name, suffix, i);
    grids.push_back(std::move(grid));
    time += generator.poisson ? mixed_exponential(generator.interval, generator.seed, i) : generator.interval;
  }
  return true;
}

}  // namespace raddle::distribute
