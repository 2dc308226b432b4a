// Matrices that the lanes of a warp hold together: their shapes, and the registers that each lane has of them
// (PTX ISA "Matrix Fragments"). Which lane has which element is each engine's own knowledge.
#pragma once

#include "isa/row.h"

namespace raddle::isa {

/// D = A * B + C: A has m rows of k elements, B k rows of n, C and D m rows of n.
struct MatrixShape {
  unsigned m = 0, n = 0, k = 0;
};

/// Of the opcode's shape modifier, such as .m16n8k16.
MatrixShape matrix_shape(const Opcode& opcode);

/// Products that one instruction makes side by side: four in .m8n8k4 of f16, a quarter of the warp each.
unsigned matrix_products(const Opcode& opcode);

/// Of A only half of each row is kept (mma.sp).
bool is_sparse(const Opcode& opcode);

/// The matrix that an operand is of: its name, or for `r` the opcode's modifier. D is another C.
enum class Matrix : std::uint8_t { a, b, c };
Matrix matrix_of(const Opcode& opcode, const OperandSpec& spec);

/// How the elements of a sparse A are kept (PTX ISA "Sparse matrix storage"): in chunks of a row.
struct SparseChunks {
  unsigned columns = 0;   ///< of a chunk, of the matrix
  unsigned kept = 0;      ///< elements of a chunk; four bits of metadata say which
  unsigned together = 1;  ///< elements that one index of two bits stands for
};
SparseChunks sparse_chunks(Type element);

/// Whether A's or B's layout modifier is .col; the first is A's. A load or store has one alone.
bool is_by_columns(const Opcode& opcode, Matrix matrix);

/// Type of the registers that hold elements of this type.
Type fragment_register(Type element);

/// The row's operand of that name.
const OperandSpec& matrix_operand(const Opcode& opcode, std::string_view name);

/// Type of the elements of an operand's matrix.
Type matrix_element(const Opcode& opcode, const OperandSpec& spec);

/// Registers that each lane has of a wgmma's A, if that is not in shared memory.
inline constexpr unsigned kWarpgroupARegisters = 4;

/// Registers that each lane has of an operand's matrix.
unsigned fragment_registers(const Opcode& opcode, const OperandSpec& spec);

/// How often these hold the matrix: wmma's A and B of f16 have eight registers, whatever their shape.
unsigned fragment_copies(const Opcode& opcode, const OperandSpec& spec);

}  // namespace raddle::isa
