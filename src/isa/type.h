// Scalar types of PTX registers, operands and memory accesses (PTX ISA "Types").
#pragma once

#include <cstdint>
#include <string_view>

namespace raddle::isa {

enum class Type : std::uint8_t {
  none,
#define PTX_TYPE(id, name, bits, cls, element, elements) id,
#include "isa/types.def"
#undef PTX_TYPE
};

enum class TypeClass : std::uint8_t {
  none,
  bits,
  unsigned_,
  signed_,
  packed_integer,
  float_,
  packed_float,
  predicate,
  opaque
};

unsigned bit_size(Type t);  ///< 0 for Type::none
inline unsigned byte_size(Type t) { return (bit_size(t) + 7) / 8; }
TypeClass type_class(Type t);
std::string_view type_name(Type t);          ///< PTX spelling without the dot
Type type_from_name(std::string_view name);  ///< Type::none if there is no such type
inline bool is_signed(Type t) { return type_class(t) == TypeClass::signed_; }
inline bool is_float(Type t) { return type_class(t) == TypeClass::float_; }
inline bool is_integer(Type t) {
  auto c = type_class(t);
  return c == TypeClass::signed_ || c == TypeClass::unsigned_;
}
Type element_type(Type t);  ///< of a packed type (f16x2: f16); any other type itself
unsigned element_count(Type t);
Type bits_type(unsigned bits);  ///< b8..b128 of that size
Type widened(Type t);           ///< twice the width, same class (u32 -> u64)

}  // namespace raddle::isa
