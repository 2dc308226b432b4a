#include "isa/fragment.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/assert.h"

namespace raddle::isa {
namespace {

constexpr unsigned kLanes = 32, kWarpgroupLanes = 128;

/// The number after a letter of "m16n8k16".
unsigned extent(std::string_view shape, char letter) {
  unsigned number = 0;
  const std::size_t at = std::min(shape.find(letter), shape.size() - 1) + 1;
  std::from_chars(shape.data() + at, shape.data() + shape.size(), number);
  return number;
}

/// Of ldmatrix and stmatrix, a register for each.
unsigned small_matrices(const Opcode& opcode) {
  if (opcode.has(Mod::x4)) return 4;
  if (opcode.has(Mod::x2)) return 2;
  return opcode.has(Mod::x1) ? 1 : 0;
}

unsigned element_total(const Opcode& opcode, Matrix matrix) {
  const MatrixShape shape = matrix_shape(opcode);
  if (matrix == Matrix::a) return shape.m * shape.k / (is_sparse(opcode) ? 2 : 1);
  return matrix == Matrix::b ? shape.k * shape.n : shape.m * shape.n;
}

/// Each element once.
unsigned needed_registers(const Opcode& opcode, const OperandSpec& spec) {
  const Type element = matrix_element(opcode, spec);
  const unsigned lanes = opcode.row->text->scope == Scope::warpgroup ? kWarpgroupLanes : kLanes;
  const unsigned elements = element_total(opcode, matrix_of(opcode, spec)) * matrix_products(opcode) / lanes;
  return elements * bit_size(element) / bit_size(fragment_register(element));
}

}  // namespace

MatrixShape matrix_shape(const Opcode& opcode) {
  const std::string_view shape = mod_name(opcode.get(ModKind::shape));
  return {extent(shape, 'm'), extent(shape, 'n'), extent(shape, 'k')};
}

unsigned matrix_products(const Opcode& opcode) {
  return opcode.has(Mod::m8n8k4) && opcode.type(1) == Type::f16 ? 4 : 1;
}

bool is_sparse(const Opcode& opcode) { return opcode.has(Mod::sp) || opcode.has(Mod::sp_ordered_metadata); }

Matrix matrix_of(const Opcode& opcode, const OperandSpec& spec) {
  if (spec.name == "a" || opcode.has(Mod::a)) return Matrix::a;
  return spec.name == "b" || opcode.has(Mod::b) ? Matrix::b : Matrix::c;
}

SparseChunks sparse_chunks(Type element) {
  if (element == Type::tf32) return {2, 1, 1};
  return bit_size(element) == 4 ? SparseChunks{8, 4, 2} : SparseChunks{4, 2, 1};
}

bool is_by_columns(const Opcode& opcode, Matrix matrix) {
  const std::string_view text = opcode.text;
  std::vector<Mod> layouts;
  for (std::size_t at = text.find('.'); at != text.npos;) {
    const std::size_t end = text.find('.', at + 1);
    const Mod mod = mod_from_name(text.substr(at + 1, end == text.npos ? end : end - at - 1));
    if (mod != Mod::none && mod_kind(mod) == ModKind::layout) layouts.push_back(mod);
    at = end;
  }
  return !layouts.empty() && (matrix == Matrix::a ? layouts.front() : layouts.back()) == Mod::col;
}

Type fragment_register(Type element) {
  switch (element) {
    case Type::f16:
      return Type::f16x2;
    case Type::bf16:
      return Type::bf16x2;
    case Type::e4m3:
      return Type::e4m3x4;
    case Type::e5m2:
      return Type::e5m2x4;
    case Type::s8:
      return Type::s8x4;
    case Type::u8:
      return Type::u8x4;
    case Type::s4:
    case Type::u4:
    case Type::b1:
      return Type::b32;
    default:
      return element;
  }
}

const OperandSpec& matrix_operand(const Opcode& opcode, std::string_view name) {
  const auto found = std::ranges::find(opcode.row->operands, name, &OperandSpec::name);
  RADDLE_ASSERT(found != opcode.row->operands.end(), "the row has no such operand");
  return *found;
}

Type matrix_element(const Opcode& opcode, const OperandSpec& spec) {
  return spec.type_slot < 0 ? spec.fixed : opcode.types[static_cast<std::size_t>(spec.type_slot)];
}

unsigned fragment_registers(const Opcode& opcode, const OperandSpec& spec) {
  if (const unsigned count = small_matrices(opcode); count != 0) return count;
  return needed_registers(opcode, spec) * fragment_copies(opcode, spec);
}

unsigned fragment_copies(const Opcode& opcode, const OperandSpec& spec) {
  constexpr unsigned kHalves = 8;
  const bool is_half = matrix_element(opcode, spec) == Type::f16 && matrix_of(opcode, spec) != Matrix::c;
  return is_half && opcode.row->mnemonic == "wmma" ? kHalves / needed_registers(opcode, spec) : 1;
}

}  // namespace raddle::isa
