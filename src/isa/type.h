// Scalar types of PTX registers, operands and memory accesses (PTX ISA "Types").
#pragma once

#include <cstdint>
#include <string_view>

namespace raddle::isa {

// clang-format off: the formatter does not settle on this list
/// X(enumerator, PTX spelling, bits, class)
#define RADDLE_PTX_TYPES(X)                                                                                  \
  X(b1, "b1", 1, bits)                                                                                       \
  X(b4, "b4", 4, bits)                                                                                       \
  X(b8, "b8", 8, bits) X(b16, "b16", 16, bits) X(b32, "b32", 32, bits) X(b64, "b64", 64, bits)               \
      X(b128, "b128", 128, bits) X(b1024, "b1024", 1024, bits) X(u2, "u2", 2, unsigned_)                     \
          X(u4, "u4", 4, unsigned_) X(u8, "u8", 8, unsigned_) X(u16, "u16", 16, unsigned_) X(                \
              u32, "u32", 32, unsigned_) X(u64, "u64", 64, unsigned_) X(s2, "s2", 2, signed_)                \
              X(s4, "s4", 4, signed_) X(s8, "s8", 8, signed_) X(s16, "s16", 16, signed_) X(                  \
                  s32, "s32", 32, signed_) X(s64, "s64", 64, signed_) X(u16x2, "u16x2", 32, packed_integer)  \
                  X(s16x2, "s16x2", 32, packed_integer) X(u8x4, "u8x4", 32, packed_integer)                  \
                      X(s8x4, "s8x4", 32, packed_integer) X(f16, "f16", 16, float_)                          \
                          X(bf16, "bf16", 16, float_) X(tf32, "tf32", 32, float_) X(f32, "f32", 32, float_)  \
                              X(f64, "f64", 64, float_) X(f16x2, "f16x2", 32, packed_float) X(               \
                                  bf16x2, "bf16x2", 32, packed_float) X(f32x2, "f32x2", 64, packed_float)    \
                                  X(e4m3, "e4m3", 8, float_) X(e5m2, "e5m2", 8, float_) X(e4m3x2, "e4m3x2",  \
                                                                                          16, packed_float)  \
                                      X(e5m2x2, "e5m2x2", 16, packed_float) X(e2m1, "e2m1", 4, float_)       \
                                          X(e2m3, "e2m3", 6, float_) X(e3m2, "e3m2", 6, float_)              \
                                              X(ue8m0, "ue8m0", 8, float_) X(ue4m3, "ue4m3", 8, float_) X(   \
                                                  e2m1x2, "e2m1x2", 8, packed_float) X(e2m3x2, "e2m3x2", 16, \
                                                                                       packed_float)         \
                                                  X(e3m2x2, "e3m2x2", 16, packed_float) X(                   \
                                                      ue8m0x2, "ue8m0x2", 16,                                \
                                                      packed_float) X(e4m3x4, "e4m3x4", 32, packed_float)    \
                                                      X(e5m2x4, "e5m2x4", 32,                                \
                                                        packed_float) X(e2m1x4, "e2m1x4", 16, packed_float)  \
                                                          X(e2m3x4, "e2m3x4", 32, packed_float)              \
                                                              X(e3m2x4, "e3m2x4", 32,                        \
                                                                packed_float) X(pred, "pred", 1, predicate)  \
                                                                  X(texref, "texref", 64, opaque) X(         \
                                                                      samplerref, "samplerref", 64, opaque)  \
                                                                      X(surfref, "surfref", 64, opaque)
// clang-format on

enum class Type : std::uint8_t {
  none,
#define X(id, name, bits, cls) id,
  RADDLE_PTX_TYPES(X)
#undef X
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
Type bits_type(unsigned bits);  ///< b8..b128 of that size
Type widened(Type t);           ///< twice the width, same class (u32 -> u64)

}  // namespace raddle::isa
