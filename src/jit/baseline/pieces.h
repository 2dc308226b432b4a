// What the baseline generator gives a place to. A value is one piece or several: a piece fits one of the
// host's registers. With AVX-512, a vector of 16 64-bit lanes is two pieces, of 64 bytes each.
#pragma once

#include <llvm/IR/DerivedTypes.h>

#include <cstdint>
#include <optional>

namespace raddle::jit::baseline {

/// What the host's vectors are like.
struct Form {
  unsigned bytes = 64;  ///< of a vector register
  unsigned registers = 32;
  /// AVX-512. Elsewhere a mask is a vector: a lane of 32 bits, all ones or zeros, for each of its own.
  bool mask_registers = true;
  bool population_counts = false;  ///< of vectors' lanes
  bool byte_permutations = false;  ///< in one instruction
};

/// The kind of register.
enum class Class : std::uint8_t { general, vector, mask };

/// How a type's values are cut into pieces.
struct Shape {
  Class kind;
  unsigned count = 1;         ///< pieces
  unsigned bytes = 0;         ///< of the whole value, in memory
  unsigned lanes = 1;         ///< elements of a vector or mask
  unsigned element_bits = 0;  ///< of a vector's element, a scalar, a mask's lane (1, or 32 in a vector)
  unsigned piece_bytes = 64;  ///< of each piece of a vector but the last
  bool is_mask = false;

  unsigned bytes_of(unsigned piece) const {
    return kind == Class::vector ? std::min(piece_bytes, bytes - piece_bytes * piece) : bytes;
  }
  unsigned lanes_of(unsigned piece) const {
    return kind == Class::vector ? bytes_of(piece) * 8 / element_bits : lanes;
  }
  unsigned lanes_before(unsigned piece) const { return kind == Class::vector ? piece * lanes_in_piece() : 0; }
  /// Of a vector, in each piece but the last.
  unsigned lanes_in_piece() const { return piece_bytes * 8 / element_bits; }
};

/// @returns none for types that the generator does not know
inline std::optional<Shape> shape_of(const llvm::Type* type, const Form& form) {
  auto scalar_bits = [](const llvm::Type* t) -> unsigned {
    if (t->isPointerTy()) return 64;
    if (t->isIntegerTy() || t->isFloatTy() || t->isDoubleTy() || t->isHalfTy() || t->isBFloatTy())
      return t->getPrimitiveSizeInBits();
    return 0;
  };
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const unsigned bits = scalar_bits(vector ? vector->getElementType() : type);
  if (bits == 0 || bits > 64) return {};
  if (!vector) {
    if (type->isIntegerTy() && bits != 1 && bits != 8 && bits != 16 && bits != 32 && bits != 64) return {};
    const bool is_general = type->isIntegerTy() || type->isPointerTy();
    return Shape{is_general ? Class::general : Class::vector, 1, (bits + 7) / 8, 1, bits, form.bytes};
  }
  const unsigned lanes = vector->getNumElements();
  if (bits == 1) {
    if (lanes > 64) return {};
    if (form.mask_registers) return Shape{Class::mask, 1, (lanes + 7) / 8, lanes, 1, form.bytes, true};
    return Shape{Class::vector, (lanes * 4 + form.bytes - 1) / form.bytes, lanes * 4, lanes, 32, form.bytes,
                 true};
  }
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return {};
  const unsigned bytes = lanes * bits / 8;
  return Shape{Class::vector, (bytes + form.bytes - 1) / form.bytes, bytes, lanes, bits, form.bytes};
}

/// Where a piece comes from when it is in no register.
enum class Origin : std::uint8_t {
  computed,   ///< its slot, once it is stored
  pool,       ///< a constant in memory
  repeated,   ///< a constant of eight bytes, again and again
  zero,       ///< a constant without any bits, of any class
  ones,       ///< a constant of all bits
  undefined,  ///< any value will do
  bits,       ///< a constant of a mask
};

using PieceId = std::uint32_t;
inline constexpr PieceId kNoPiece = ~PieceId{0};

struct Piece {
  Class kind;
  Origin origin = Origin::computed;
  std::uint8_t bytes;          ///< in memory
  bool is_global = false;      ///< read outside the block that makes it: always stored
  bool is_stored = false;      ///< its slot holds it
  std::int8_t place = -1;      ///< number of its register; -1: in none
  std::int8_t home = -1;       ///< number of the register that it keeps from block to block; -1: none
  std::int32_t slot = -1;      ///< in the frame; -1: none yet
  PieceId shares = kNoPiece;   ///< whose slot it has, a global one's; kNoPiece: its own
  std::uint32_t uses = 0;      ///< still to come
  std::uint32_t block = 0;     ///< that makes it
  std::uint64_t constant = 0;  ///< bits, or the number of a constant in the pool

  bool is_constant() const { return origin != Origin::computed; }
};

/// Of a register or slot that holds so many bytes.
inline unsigned width_of(unsigned bytes) {
  for (unsigned width : {4u, 8u, 16u, 32u})
    if (bytes <= width) return width;
  return 64;
}

}  // namespace raddle::jit::baseline
