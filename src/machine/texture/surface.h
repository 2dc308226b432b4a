// Surface accesses of one lane: loads, stores and reductions at coordinates that are checked (PTX ISA "suld",
// "sust", "sured").
#pragma once

#include <array>
#include <cstdint>

#include "exec/texture.h"
#include "raddle/texture.h"

namespace raddle::machine {

struct SurfacePoint {
  std::array<std::int32_t, 3> at{};  ///< x in bytes, or texels where the request is formatted
  std::uint32_t layer = 0;
};

enum class SurfaceResult { done, outside, misaligned };

/// @param values  the elements, zero-extended: read, or written by a load
/// @returns `outside` only for a request with .trap; `misaligned` if x is no multiple of the access
SurfaceResult access_surface(const Image& image, const exec::SurfaceRequest& request,
                             const SurfacePoint& point, std::array<std::uint64_t, 4>& values);

}  // namespace raddle::machine
