// The guard against slower kernels: compares what share of its limit each kernel reached in one run of the
// benchmark and in another. Shares, as machines and their neighbours differ from run to run, and limits
// with them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace bench {

/// What a run says of Raddle.
struct Shares {
  bool quick = false;
  unsigned cores = 0;
  std::map<std::string, double> by_kernel;  ///< share of the limit; 0: no figure
};

/// A kernel that reached less.
struct Fall {
  std::string kernel;
  double before = 0, now = 0;
};

/// The shares in a file that `--json` wrote.
/// @errors io: no such file; invalid: no results, or older ones, which have no shares
raddle::Result<Shares> read_shares(const std::string& path);

/// @errors invalid: the runs differ in size or cores, so their shares do not compare; or have no kernel in
/// common
raddle::Result<void> check_comparable(const Shares& before, const Shares& now);

/// Kernels of both runs whose share is below `factor` times what it was before.
std::vector<Fall> falls(const Shares& before, const Shares& now, double factor);

/// Falls of the last run whose kernels fell in every run. @param runs the first is of all kernels
std::vector<Fall> falls_in_all(const Shares& before, const std::vector<Shares>& runs, double factor);

/// A line for a person.
std::string describe(const Fall& fall);

}  // namespace bench
