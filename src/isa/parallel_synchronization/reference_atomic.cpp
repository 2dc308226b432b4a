// Reference semantics of atom and red: every operation is a compare-and-swap loop on host memory around a
// plain function of the old value.
#include "interp/lane.h"
#include "interp/reference.h"
#include "interp/types.h"
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

template <class T>
T integer_result(Mod operation, T old, T b) {
  using U = std::make_unsigned_t<T>;
  switch (operation) {
    case Mod::and_:
      return old & b;
    case Mod::or_:
      return old | b;
    case Mod::xor_:
      return old ^ b;
    case Mod::exch:
      return b;
    case Mod::add:
      return static_cast<T>(static_cast<U>(old) + static_cast<U>(b));
    case Mod::inc:
      return old >= b ? T{0} : static_cast<T>(old + 1);
    case Mod::dec:
      return old == 0 || old > b ? b : static_cast<T>(old - 1);
    case Mod::min:
      return old < b ? old : b;
    case Mod::max:
      return old > b ? old : b;
    default:
      RADDLE_UNREACHABLE("no atomic operation");
  }
}

/// The one way atom and red differ is where the operands stand and whether the old value is kept.
struct Places {
  unsigned address, b;
  bool keeps_old;
};
constexpr Places kAtom{1, 2, true}, kRed{0, 1, false};

template <class T>
void update_float(Lane& lane, const Instruction& i, Places at) {
  using U = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                               std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  T b = lane.in<T>(at.b);
  auto* p = reinterpret_cast<U*>(lane.access(at.address, sizeof(T)));
  U old = lane.touch([&] {
    return update<U>(p, order_of(i), [&](U bits) {
      return std::bit_cast<U>(numerics::add(numerics::from_encoding<T>(bits), b));
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
      return update<T>(p, order_of(i), [&](T value) { return integer_result<T>(operation, value, b); });
    });
    if (at.keeps_old) lane.out<T>(0, old);
  });
}

/// Halves of a pair are updated one after the other.
void update_half(Lane& lane, const Instruction& i, Places at) {
  Type type = i.opcode->type();
  unsigned parts = is_pair(type) ? 2 : 1;
  with_half(type, [&](auto tag) {
    using T = decltype(tag);
    std::uint32_t b = lane.in<std::uint32_t>(at.b), result = 0;
    auto* p = reinterpret_cast<std::uint16_t*>(lane.access(at.address, parts * 2));
    for (unsigned part = 0; part < parts; ++part) {
      T addend{static_cast<std::uint16_t>(b >> (16 * part))};
      std::uint16_t old = lane.touch([&] {
        return update<std::uint16_t>(p + part, order_of(i),
                                     [&](std::uint16_t bits) { return numerics::add(T{bits}, addend).bits; });
      });
      result |= static_cast<std::uint32_t>(old) << (16 * part);
    }
    if (at.keeps_old) lane.out<std::uint32_t>(0, result);
  });
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
void reference<Op::atom_half>(Lane& lane, const Instruction& i) {
  update_half(lane, i, kAtom);
}
template <>
void reference<Op::red_half>(Lane& lane, const Instruction& i) {
  update_half(lane, i, kRed);
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
