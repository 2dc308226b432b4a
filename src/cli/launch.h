// What `run`, `compile` and `occupancy` share: extents of blocks and clusters, and how reports are put into
// words.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "raddle/raddle.h"

namespace raddle::cli {

/// "X[,Y[,Z]]". @errors invalid: names `what`
Result<Dim3> parse_dim3(const std::string& text, const char* what);

/// "[LEVEL:]X[,Y[,Z]]", of a GPC if no level is named. @errors invalid, not_found
Result<ClusterLevel> parse_cluster_level(const std::string& text);

/// "[LEVEL:]X[,Y[,Z]]" of each level of a launch's clusters, outermost first; one without a level is CUDA's
/// cluster.
/// @errors invalid
Result<void> parse_clusters(const std::vector<std::string>& texts, LaunchConfig& config);

std::string time_text(double seconds);

/// " (from the code cache)", " (quick tier)", or empty.
std::string code_origin(const LaunchReport& report);

}  // namespace raddle::cli
