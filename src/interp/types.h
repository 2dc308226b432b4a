// From a row's PTX type to a C++ type: with_*(type, f) calls f with a value of the C++ type that holds it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/assert.h"
#include "isa/row.h"
#include "numerics/half.h"

namespace raddle::interp {

/// Integers and untyped bits (as unsigned), 8 to 64 bits.
template <class F>
auto with_integer(isa::Type type, F f) {
  using isa::Type;
  switch (type) {
    case Type::b8:
    case Type::u8:
      return f(std::uint8_t{});
    case Type::b16:
    case Type::u16:
      return f(std::uint16_t{});
    case Type::b32:
    case Type::u32:
      return f(std::uint32_t{});
    case Type::b64:
    case Type::u64:
      return f(std::uint64_t{});
    case Type::s8:
      return f(std::int8_t{});
    case Type::s16:
      return f(std::int16_t{});
    case Type::s32:
      return f(std::int32_t{});
    case Type::s64:
      return f(std::int64_t{});
    default:
      RADDLE_UNREACHABLE("no integer type");
  }
}

/// f32 and f64.
template <class F>
auto with_float(isa::Type type, F f) {
  return type == isa::Type::f64 ? f(double{}) : f(float{});
}

/// f16 and bf16, also as the element of a pair.
template <class F>
auto with_half(isa::Type type, F f) {
  bool bf = type == isa::Type::bf16 || type == isa::Type::bf16x2;
  return bf ? f(numerics::bf16{}) : f(numerics::f16{});
}

/// Every float type that a register holds by itself.
template <class F>
auto with_any_float(isa::Type type, F f) {
  if (type == isa::Type::f16 || type == isa::Type::bf16) return with_half(type, f);
  return with_float(type, f);
}

/// The unsigned integer of as many bits; predicates as bool.
template <class F>
auto with_bits(isa::Type type, F f) {
  switch (isa::bit_size(type)) {
    case 1:
      return f(bool{});
    case 8:
      return f(std::uint8_t{});
    case 16:
      return f(std::uint16_t{});
    case 32:
      return f(std::uint32_t{});
    case 64:
      return f(std::uint64_t{});
    case 128:
      return f(static_cast<unsigned __int128>(0));
    default:
      RADDLE_UNREACHABLE("no such width");
  }
}

inline numerics::Rounding rounding_of(const isa::Opcode& opcode) {
  using isa::Mod;
  switch (opcode.get(isa::ModKind::rounding)) {
    case Mod::rz:
    case Mod::rzi:
      return numerics::Rounding::rz;
    case Mod::rm:
    case Mod::rmi:
      return numerics::Rounding::rm;
    case Mod::rp:
    case Mod::rpi:
      return numerics::Rounding::rp;
    case Mod::rna:
      return numerics::Rounding::rna;
    default:
      return numerics::Rounding::rn;
  }
}

/// Comparisons of integers by name; lo, ls, hi, hs are unsigned ones of any operand type.
template <class T>
bool compare_integers(isa::Mod how, T a, T b) {
  using isa::Mod;
  switch (how) {
    case Mod::eq:
      return a == b;
    case Mod::ne:
      return a != b;
    case Mod::lt:
    case Mod::lo:
      return a < b;
    case Mod::le:
    case Mod::ls:
      return a <= b;
    case Mod::gt:
    case Mod::hi:
      return a > b;
    case Mod::ge:
    case Mod::hs:
      return a >= b;
    default:
      RADDLE_UNREACHABLE("no integer comparison");
  }
}

/// The integer that atom and red store, and how redux joins two.
template <class T>
T combine_integers(isa::Mod operation, T old, T b) {
  using isa::Mod;
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
      RADDLE_UNREACHABLE("no operation of atom, red or redux");
  }
}

inline bool is_pair(isa::Type type) { return isa::type_class(type) == isa::TypeClass::packed_float; }

}  // namespace raddle::interp
