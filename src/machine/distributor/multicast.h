// Multicast selection (W-6): at most one CTA of a cluster per SM, so that one message reaches all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/distributor/cluster_policy.h"
#include "machine/distributor/speed.h"

namespace raddle::machine {

class Multicast {
 public:
  /// SMs of TPCs all of whose SMs (those in the domain) can take a CTA come first, then those of other TPCs;
  /// within a class those with most free slots, then by priority.
  /// @returns the least free slots left on a chosen SM, or fail: fewer able SMs than CTAs
  Answer choose(const DomainView& domain, std::uint64_t ctas);
  /// After `choose` succeeded: appends its SMs as one mask.
  void append(const DomainView& domain, Placement& placement) const;

 private:
  struct Tpc {
    std::uint32_t sms = 0, able = 0;
  };
  void count_by_tpc(const DomainView& domain);

  std::vector<std::uint64_t> ranks_;  // of the able SMs, the chosen ones best first
  std::vector<Tpc> tpcs_;
  std::uint32_t first_tpc_ = 0;
  std::size_t chosen_ = 0;
};

}  // namespace raddle::machine
