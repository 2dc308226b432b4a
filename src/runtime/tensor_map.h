// Tensor maps, for who makes them on the host.
#pragma once

#include "exec/tensor_map.h"

namespace raddle {

using exec::kMaxTensorRank;
using exec::kTensorMapAlignment;
using exec::kTensorMapBytes;
using exec::TensorMap;

/// Where a program's CUtensorMap lies.
struct TensorMapBytes {
  std::byte* at;

  /// @errors invalid: names the limit that `map` breaks
  Result<void> encode(const TensorMap& map) const {
    TRY(exec::check(map));
    exec::encode(map, at);
    return {};
  }
  /// @errors invalid: no map is there, or one that breaks a limit
  Result<TensorMap> decode() const { return exec::decode_tensor_map(at); }
};

}  // namespace raddle
