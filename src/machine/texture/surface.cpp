#include "machine/texture/surface.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "machine/texture/texel.h"

namespace raddle::machine {
namespace {

using exec::SurfaceRequest;
using Elements = std::array<std::uint64_t, 4>;

template <class T>
void reduce(std::byte* where, SurfaceRequest::Action action, std::uint64_t operand) {
  const std::atomic_ref<T> word(*reinterpret_cast<T*>(where));
  const auto value = static_cast<T>(operand);
  T old = word.load(std::memory_order_relaxed), wanted;
  do {
    switch (action) {
      case SurfaceRequest::add:
        wanted = static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) +
                                static_cast<std::make_unsigned_t<T>>(value));
        break;
      case SurfaceRequest::min:
        wanted = std::min(old, value);
        break;
      case SurfaceRequest::max:
        wanted = std::max(old, value);
        break;
      case SurfaceRequest::and_:
        wanted = old & value;
        break;
      default:
        wanted = old | value;
        break;
    }
  } while (!word.compare_exchange_weak(old, wanted, std::memory_order_relaxed));
}

void reduce(std::byte* where, const SurfaceRequest& request, std::uint64_t operand) {
  if (request.bytes == 8)
    return request.is_signed ? reduce<std::int64_t>(where, request.action, operand)
                             : reduce<std::uint64_t>(where, request.action, operand);
  return request.is_signed ? reduce<std::int32_t>(where, request.action, operand)
                           : reduce<std::uint32_t>(where, request.action, operand);
}

void access(std::byte* where, const Image& image, const SurfaceRequest& request, Elements& values) {
  if (request.action > SurfaceRequest::store) return reduce(where, request, values[0]);
  if (request.formatted) {
    std::array<std::uint32_t, 4> channels;
    for (unsigned c = 0; c < 4; ++c) channels[c] = static_cast<std::uint32_t>(values[c]);
    return store_channels(where, image.format, channels.data(), request.elements);
  }
  for (unsigned e = 0; e < request.elements; ++e) {
    std::byte* const element = where + std::size_t{e} * request.bytes;
    if (request.action == SurfaceRequest::store) {
      std::memcpy(element, &values[e], request.bytes);
    } else {
      values[e] = 0;
      std::memcpy(&values[e], element, request.bytes);
    }
  }
}

/// Signedness of a formatted reduction is the surface's.
SurfaceRequest as_formatted(SurfaceRequest request, const Image& image) {
  if (request.formatted)
    request.is_signed = image.format.type == ChannelType::signed8 ||
                        image.format.type == ChannelType::signed16 ||
                        image.format.type == ChannelType::signed32;
  return request;
}

/// A coordinate in [0, size - width], 0 of `size` too small; @returns whether it was there already
bool bring_inside(std::int64_t& at, std::int64_t size, std::int64_t width) {
  const std::int64_t wanted = at;
  at = std::clamp<std::int64_t>(at, 0, std::max<std::int64_t>(size - width, 0));
  return at == wanted && at + width <= size;
}

}  // namespace

SurfaceResult access_surface(const Image& image, const SurfaceRequest& wanted, const SurfacePoint& point,
                             Elements& values) {
  const SurfaceRequest request = as_formatted(wanted, image);
  const ImageLevel& level = image.levels[0];
  const std::int64_t texel = image.format.bytes(), row = level.width * texel;
  const bool reduction = request.action > SurfaceRequest::store;
  const std::int64_t bytes =
      request.formatted && !reduction ? texel : std::int64_t{request.bytes} * request.elements;
  std::int64_t x = point.at[0] * (request.formatted ? texel : 1), y = 0, z = 0;
  bool inside = true;
  if (request.bounds == SurfaceRequest::clamp && x >= row) x = row / bytes * bytes - bytes;
  inside &= bring_inside(x, row, bytes);
  const unsigned count = isa::coordinate_count(request.geometry);
  if (count > 1) inside &= bring_inside(y = point.at[1], level.height, 1);
  if (count > 2) inside &= bring_inside(z = point.at[2], level.slices, 1);
  if (isa::has_layer(request.geometry)) inside &= bring_inside(z = point.layer, level.slices, 1);
  if (!inside && (request.bounds == SurfaceRequest::trap || row < bytes)) return SurfaceResult::outside;
  if (!inside && request.bounds == SurfaceRequest::zero) {
    if (request.action == SurfaceRequest::load) values = {};
    return SurfaceResult::done;
  }
  const std::int64_t alignment = reduction ? request.bytes : request.formatted ? 1 : bytes;
  if (x % alignment != 0) return SurfaceResult::misaligned;
  auto* const where = reinterpret_cast<std::byte*>(level.address.value) +
                      static_cast<std::uint64_t>(z) * level.slice_pitch +
                      static_cast<std::uint64_t>(y) * level.row_pitch + static_cast<std::uint64_t>(x);
  access(where, image, request, values);
  return SurfaceResult::done;
}

}  // namespace raddle::machine
