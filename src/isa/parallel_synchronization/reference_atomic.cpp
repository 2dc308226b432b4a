// Reference semantics of atom, red and multimem.red: every operation is a compare-and-swap loop on host
// memory around a plain function of the old value.
#include <array>

#include "interp/lane.h"
#include "interp/mbarriers.h"
#include "interp/reference.h"
#include "interp/sends.h"
#include "interp/types.h"
#include "interp/warp.h"
#include "numerics/arithmetic.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Instruction;

namespace {

int order_of(const Instruction& i) {
  switch (i.opcode->get(isa::ModKind::semantics)) {
    case Mod::acquire:
      return __ATOMIC_ACQUIRE;
    case Mod::release:
      return __ATOMIC_RELEASE;
    case Mod::acq_rel:
      return __ATOMIC_ACQ_REL;
    default:
      return __ATOMIC_RELAXED;
  }
}

/// Replaces the value at `at` by f(value). @returns the value before
template <class U, class F>
U update(U* at, int order, F f) {
  U old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(at, &old, f(old), false, order, __ATOMIC_RELAXED)) {
  }
  return old;
}

/// The one way atom and red differ is where the operands stand and whether the old value is kept.
struct Places {
  unsigned address, b;
  bool keeps_old;
};
constexpr Places kAtom{1, 2, true}, kRed{0, 1, false};

/// Outside of shared memory additions of f32 flush subnormals: zeros of their sign are added, and written.
float sum_at(const Lane& lane, const void* at, float old, float b) {
  if (lane.in_cluster(reinterpret_cast<std::uint64_t>(at))) return numerics::add(old, b);
  return numerics::flush(numerics::add(numerics::flush(old), numerics::flush(b)));
}

template <class T>
void update_float(Lane& lane, const Instruction& i, Places at) {
  using U = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                               std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  T b = lane.in<T>(at.b);
  auto* p = reinterpret_cast<U*>(lane.access(at.address, sizeof(T)));
  U old = lane.touch([&] {
    return update<U>(p, order_of(i), [&](U bits) {
      const T before = numerics::from_encoding<T>(bits);
      if constexpr (std::is_same_v<T, float>) return std::bit_cast<U>(sum_at(lane, p, before, b));
      return std::bit_cast<U>(numerics::add(before, b));
    });
  });
  if (at.keeps_old) lane.out<U>(0, old);
}

void update_number(Lane& lane, const Instruction& i, Places at) {
  Type type = i.opcode->type();
  if (isa::is_float(type)) {
    return with_float(type, [&](auto tag) { update_float<decltype(tag)>(lane, i, at); });
  }
  with_integer(type, [&](auto tag) {
    using T = decltype(tag);
    T b = lane.in<T>(at.b);
    auto* p = reinterpret_cast<T*>(lane.access(at.address, sizeof(T)));
    Mod operation = i.opcode->get(isa::ModKind::operation);
    T old = lane.touch([&] {
      return update<T>(p, order_of(i), [&](T value) { return combine_integers<T>(operation, value, b); });
    });
    if (at.keeps_old) lane.out<T>(0, old);
  });
}

template <class T>
T float_result(Mod operation, T old, T b) {
  if (operation == Mod::min) return numerics::min(old, b);
  if (operation == Mod::max) return numerics::max(old, b);
  return numerics::add(old, b);
}

/// One element of float type at p; halves of a pair are updated one after the other.
/// @returns the bits before
std::uint32_t update_element(const Lane& lane, const Instruction& i, std::byte* p, std::uint32_t b) {
  Type type = i.opcode->type();
  Mod operation = i.opcode->get(isa::ModKind::operation);
  if (type == Type::f32) {
    return lane.touch([&] {
      return update<std::uint32_t>(reinterpret_cast<std::uint32_t*>(p), order_of(i), [&](std::uint32_t bits) {
        const float before = std::bit_cast<float>(bits), other = std::bit_cast<float>(b);
        return std::bit_cast<std::uint32_t>(operation == Mod::add ? sum_at(lane, p, before, other)
                                                                  : float_result(operation, before, other));
      });
    });
  }
  return with_half(type, [&](auto tag) {
    using T = decltype(tag);
    std::uint32_t result = 0;
    auto* halves = reinterpret_cast<std::uint16_t*>(p);
    for (unsigned part = 0; part < (is_pair(type) ? 2u : 1u); ++part) {
      T operand{static_cast<std::uint16_t>(b >> (16 * part))};
      std::uint16_t old = lane.touch([&] {
        return update<std::uint16_t>(halves + part, order_of(i), [&](std::uint16_t bits) {
          return float_result(operation, T{bits}, operand).bits;
        });
      });
      result |= static_cast<std::uint32_t>(old) << (16 * part);
    }
    return result;
  });
}

/// A vector, or one element, of f32, halves or pairs of halves; element by element. The whole is aligned.
void update_elements(Lane& lane, const Instruction& i, Places at) {
  unsigned count = lane.count(at.b), bytes = isa::byte_size(i.opcode->type());
  std::array<std::uint32_t, 8> old{};
  std::byte* p = lane.access(at.address, count * bytes);
  for (unsigned k = 0; k < count; ++k)
    old[k] = update_element(lane, i, p + k * bytes, lane.value<std::uint32_t>(lane.element(at.b, k)));
  for (unsigned k = 0; k < count && at.keeps_old; ++k) lane.assign<std::uint32_t>(lane.element(0, k), old[k]);
}

/// @returns the value before
Bits128 compare_and_swap(Bits128* at, Bits128 expected, Bits128 replacement) {
  return __sync_val_compare_and_swap(at, expected, replacement);
}

}  // namespace

template <>
void reference<Op::atom>(Lane& lane, const Instruction& i) {
  update_number(lane, i, kAtom);
}
template <>
void reference<Op::red>(Lane& lane, const Instruction& i) {
  update_number(lane, i, kRed);
}
template <>
void reference_warp<Op::red_async>(WarpStep& step, const Instruction& i) {
  const Mod operation = i.opcode->get(isa::ModKind::operation);
  step.each([&](Lane& lane) {
    with_integer(i.opcode->type(), [&](auto tag) {
      using T = decltype(tag);
      const T b = lane.in<T>(1);
      const SendPlaces places = send_places(lane, sizeof(T));
      if (send_late(lane, places, &b, sizeof(T), bulk_reduction(*i.opcode))) return;
      lane.touch([&] {
        update<T>(reinterpret_cast<T*>(places.to), order_of(i),
                  [&](T value) { return combine_integers<T>(operation, value, b); });
      });
      complete_transactions(lane, places.mbarrier, sizeof(T));
    });
  });
}
/// The group has one device only.
template <>
void reference<Op::multimem_red>(Lane& lane, const Instruction& i) {
  const Type type = i.opcode->type();
  const bool has_halves = is_pair(type) || type == Type::f16 || type == Type::bf16;
  if (has_halves || i.opcode->vector_length() > 1) return update_elements(lane, i, kRed);
  update_number(lane, i, kRed);
}

template <>
void reference<Op::atom_half>(Lane& lane, const Instruction& i) {
  update_elements(lane, i, kAtom);
}
template <>
void reference<Op::red_half>(Lane& lane, const Instruction& i) {
  update_elements(lane, i, kRed);
}

template <>
void reference<Op::atom_vec>(Lane& lane, const Instruction& i) {
  update_elements(lane, i, kAtom);
}
template <>
void reference<Op::red_vec>(Lane& lane, const Instruction& i) {
  update_elements(lane, i, kRed);
}

/// Exchange is a swap against the old value; a first guess of zero reads it. Every order is the full
/// one.
template <>
void reference<Op::atom_b128>(Lane& lane, const Instruction& i) {
  auto b = lane.in<Bits128>(2), c = lane.has(3) ? lane.in<Bits128>(3) : 0;
  bool swap = i.opcode->has(Mod::cas);
  auto* p = reinterpret_cast<Bits128*>(lane.access(1, sizeof(Bits128)));
  Bits128 old = lane.touch([&] {
    if (swap) return compare_and_swap(p, b, c);
    Bits128 seen = 0;
    for (Bits128 guess = 0;; guess = seen)
      if (seen = compare_and_swap(p, guess, b); seen == guess) return seen;
  });
  lane.out<Bits128>(0, old);
}

template <>
void reference<Op::atom_cas>(Lane& lane, const Instruction& i) {
  with_bits(i.opcode->type(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (sizeof(T) >= 2 && sizeof(T) <= 8) {
      T expected = lane.in<T>(2), replacement = lane.in<T>(3);
      auto* p = reinterpret_cast<T*>(lane.access(1, sizeof(T)));
      lane.touch([&] {
        __atomic_compare_exchange_n(p, &expected, replacement, false, order_of(i), __ATOMIC_ACQUIRE);
      });
      lane.out<T>(0, expected);  // the value before, equal or not
    }
  });
}

}  // namespace raddle::interp
