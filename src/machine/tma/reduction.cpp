#include "machine/tma/reduction.h"

#include <cstring>
#include <type_traits>

#include "numerics/arithmetic.h"

namespace raddle::machine {
namespace {

using exec::BulkElement;
using exec::BulkReduction;

template <unsigned kBytes>
using BitsOf = std::conditional_t<kBytes == 2, std::uint16_t,
                                  std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>;

/// A float whose subnormals count as zeros.
struct FlushedFloat {
  float value;
};

/// PTX ISA, "cp.reduce.async.bulk": inc wraps to 0 above the operand, dec to the operand at 0 or above it.
template <BulkReduction op, class T>
T combined(T old, T value) {
  if constexpr (op == BulkReduction::add) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(old) + static_cast<std::uint64_t>(value));  // modulo
    else if constexpr (std::is_same_v<T, FlushedFloat>)
      return {numerics::flush(numerics::add(numerics::flush(old.value), numerics::flush(value.value)))};
    else
      return numerics::add(old, value);
  } else if constexpr (op == BulkReduction::min) {
    if constexpr (std::is_integral_v<T>)
      return value < old ? value : old;
    else
      return numerics::min(old, value);
  } else if constexpr (op == BulkReduction::max) {
    if constexpr (std::is_integral_v<T>)
      return value > old ? value : old;
    else
      return numerics::max(old, value);
  } else if constexpr (op == BulkReduction::inc) {
    return old >= value ? 0 : static_cast<T>(old + 1);
  } else if constexpr (op == BulkReduction::dec) {
    return old == 0 || old > value ? value : static_cast<T>(old - 1);
  } else if constexpr (op == BulkReduction::and_) {
    return static_cast<T>(old & value);
  } else if constexpr (op == BulkReduction::or_) {
    return static_cast<T>(old | value);
  } else {
    static_assert(op == BulkReduction::xor_);
    return static_cast<T>(old ^ value);
  }
}

template <BulkReduction op, class T>
void reduce(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  using Bits = BitsOf<sizeof(T)>;
  for (std::uint32_t at = 0; at < bytes; at += sizeof(T)) {
    T value;
    std::memcpy(&value, from + at, sizeof(T));
    auto* const place = reinterpret_cast<Bits*>(to + at);
    Bits seen = __atomic_load_n(place, __ATOMIC_RELAXED), wanted;
    do {
      wanted = std::bit_cast<Bits>(combined<op>(std::bit_cast<T>(seen), value));
    } while (!__atomic_compare_exchange_n(place, &seen, wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  }
}

template <class T>
ReduceBytes any_of(BulkReduction op) {
  switch (op) {
    case BulkReduction::add:
      return reduce<BulkReduction::add, T>;
    case BulkReduction::min:
      return reduce<BulkReduction::min, T>;
    case BulkReduction::max:
      return reduce<BulkReduction::max, T>;
    default:
      break;
  }
  if constexpr (std::is_unsigned_v<T>) {
    if (op == BulkReduction::and_) return reduce<BulkReduction::and_, T>;
    if (op == BulkReduction::or_) return reduce<BulkReduction::or_, T>;
    if (op == BulkReduction::xor_) return reduce<BulkReduction::xor_, T>;
  }
  if constexpr (std::is_same_v<T, std::uint32_t>) {
    if (op == BulkReduction::inc) return reduce<BulkReduction::inc, T>;
    if (op == BulkReduction::dec) return reduce<BulkReduction::dec, T>;
  }
  return nullptr;
}

}  // namespace

ReduceBytes reduction_of(BulkReduction reduction, BulkElement element) {
  const bool adds = reduction == BulkReduction::add;
  switch (element) {
    case BulkElement::u32:
      return any_of<std::uint32_t>(reduction);
    case BulkElement::s32:
      return any_of<std::int32_t>(reduction);
    case BulkElement::u64:
      return any_of<std::uint64_t>(reduction);
    case BulkElement::s64:
      return any_of<std::int64_t>(reduction);
    case BulkElement::f16:
      return any_of<numerics::f16>(reduction);
    case BulkElement::bf16:
      return any_of<numerics::bf16>(reduction);
    case BulkElement::f32:
      return adds ? any_of<float>(reduction) : nullptr;
    case BulkElement::f64:
      return adds ? any_of<double>(reduction) : nullptr;
  }
  return nullptr;
}

ReduceBytes reduction_of(BulkReduction reduction, exec::TensorMap::Element element) {
  using Element = exec::TensorMap::Element;
  const bool adds = reduction == BulkReduction::add, is_bitwise = reduction >= BulkReduction::and_;
  switch (element) {
    case Element::u32:
      return reduction_of(reduction, BulkElement::u32);
    case Element::s32:
      return reduction_of(reduction, is_bitwise ? BulkElement::u32 : BulkElement::s32);
    case Element::u64:
      return reduction_of(reduction, BulkElement::u64);
    case Element::s64:
      return adds ? nullptr : reduction_of(reduction, BulkElement::s64);
    case Element::f16:
      return reduction_of(reduction, BulkElement::f16);
    case Element::bf16:
      return reduction_of(reduction, BulkElement::bf16);
    case Element::f32:
    case Element::tf32:
      return reduction_of(reduction, BulkElement::f32);
    case Element::f32_ftz:
    case Element::tf32_ftz:
      return adds ? reduce<BulkReduction::add, FlushedFloat> : nullptr;
    case Element::f64:
      return reduction_of(reduction, BulkElement::f64);
    default:
      return nullptr;
  }
}

}  // namespace raddle::machine
