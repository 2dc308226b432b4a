// CUDA's attributes that clang 19 does not know: raddle/cuda/device/attributes.h leaves them in the code as
// annotations; here they become attributes that LLVM's back end understands (__grid_constant__, __maxnreg__,
// __managed__) or a directive in the PTX (__cluster_dims__).
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace raddle::cli {

/// How a `__managed__` variable is marked in LLVM's assembly of host and device.
inline constexpr std::string_view kManagedMark = ", section \"raddle.managed\"";

struct Annotated {
  std::string code;                             ///< LLVM's assembly without the annotations
  std::map<std::string, std::string> clusters;  ///< kernel -> "2, 1, 1"
  bool has_managed = false;                     ///< it defines or uses managed variables
};

/// @param code  LLVM's assembly as clang writes it before any optimisation
Annotated lower_annotations(std::string_view code);

/// The PTX with a directive for each kernel that has a cluster's size.
std::string with_clusters(std::string_view ptx, const std::map<std::string, std::string>& clusters);

}  // namespace raddle::cli
