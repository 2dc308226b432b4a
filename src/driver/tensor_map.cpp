// Tensor maps, as programs make them on the host. The limits are those of the comments in cuda.h; exec checks
// them (docs/tensor-maps.md).
#include "runtime/tensor_map.h"

#include <algorithm>

#include "driver/entry.h"
#include "driver/process.h"

namespace raddle::driver {
namespace {

/// A number of cuda.h; one that the field cannot hold becomes one that no field has.
template <class Enum>
Enum enumerator(unsigned number) {
  return static_cast<Enum>(std::min(number, 0xffu));
}

/// Where a program wants its map, or has it.
Result<TensorMapBytes> bytes_of(CUtensorMap* map) {
  const unsigned capability = current_gpu().shape.capability;
  if (capability < 90)
    return Error::unsupported("tensor maps need compute capability 9.0, not {}.{}", capability / 10,
                              capability % 10);
  if (reinterpret_cast<std::uintptr_t>(map) % kTensorMapAlignment != 0)
    return Error::invalid("tensorMap is at {}; it must be a multiple of {}", fmt::ptr(map),
                          kTensorMapAlignment);
  return TensorMapBytes{reinterpret_cast<std::byte*>(map)};
}

/// What both kinds of maps say of the tensor.
Result<TensorMap> tensor_of(unsigned element, unsigned rank, void* address, const std::uint64_t* sizes,
                            const std::uint64_t* strides, const unsigned* steps) {
  TensorMap map;
  map.element = enumerator<TensorMap::Element>(element);
  map.rank = rank;
  map.address = reinterpret_cast<std::uint64_t>(address);
  if (rank > 1 && strides == nullptr) return Error::invalid("globalStrides is null");
  for (unsigned d = 0; d < std::min(rank, kMaxTensorRank); ++d) {
    map.size[d] = sizes[d];
    if (d != 0) map.stride[d] = strides[d - 1];
    map.step[d] = steps[d];
  }
  return map;
}

void set_layout(TensorMap& map, unsigned interleave, unsigned swizzle, unsigned promotion, unsigned fill) {
  map.interleave = enumerator<TensorMap::Interleave>(interleave);
  map.swizzle = enumerator<TensorMap::Swizzle>(swizzle);
  map.promotion = enumerator<TensorMap::Promotion>(promotion);
  map.fill = enumerator<TensorMap::Fill>(fill);
}

}  // namespace

namespace entry {

Status cuTensorMapEncodeTiled(Here, CUtensorMap* tensor_map, unsigned element, unsigned rank, void* address,
                              const std::uint64_t* sizes, const std::uint64_t* strides, const unsigned* box,
                              const unsigned* steps, unsigned interleave, unsigned swizzle,
                              unsigned promotion, unsigned fill) {
  TRY_ASSIGN(const TensorMapBytes bytes, bytes_of(tensor_map));
  TRY_ASSIGN(TensorMap map, tensor_of(element, rank, address, sizes, strides, steps));
  std::copy_n(box, std::min(rank, kMaxTensorRank), map.box.begin());
  set_layout(map, interleave, swizzle, promotion, fill);
  return bytes.encode(map);
}

Status cuTensorMapEncodeIm2col(Here, CUtensorMap* tensor_map, unsigned element, unsigned rank, void* address,
                               const std::uint64_t* sizes, const std::uint64_t* strides, const int* lower,
                               const int* upper, unsigned channels, unsigned pixels, const unsigned* steps,
                               unsigned interleave, unsigned swizzle, unsigned promotion, unsigned fill) {
  TRY_ASSIGN(const TensorMapBytes bytes, bytes_of(tensor_map));
  TRY_ASSIGN(TensorMap map, tensor_of(element, rank, address, sizes, strides, steps));
  map.mode = TensorMap::Mode::im2col;
  if (rank > 2) {
    const unsigned spatial = std::min(rank, kMaxTensorRank) - 2;
    std::copy_n(lower, spatial, map.lower.begin());
    std::copy_n(upper, spatial, map.upper.begin());
  }
  map.channels = channels;
  map.pixels = pixels;
  set_layout(map, interleave, swizzle, promotion, fill);
  return bytes.encode(map);
}

Status cuTensorMapReplaceAddress(Here, CUtensorMap* tensor_map, void* address) {
  TRY_ASSIGN(const TensorMapBytes bytes, bytes_of(tensor_map));
  TRY_ASSIGN(TensorMap map, bytes.decode());
  map.address = reinterpret_cast<std::uint64_t>(address);
  return bytes.encode(map);
}

}  // namespace entry
}  // namespace raddle::driver
