// Which rows and spellings random programs are made of, by place. Nothing here names an opcode to generate;
// what may stand where follows from a row's scope, effects and operands.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "isa/row.h"

namespace raddle::diff {

/// Where a row's instructions may be put.
enum class Place : std::uint8_t {
  lane,    ///< anywhere: computes from registers (or only orders memory)
  memory,  ///< anywhere: reads or writes the thread's own slots, or reads memory that nobody writes
  warp,    ///< where all existing lanes of the warp are together
  subset,  ///< those of `warp` that some lanes may do while the others are elsewhere
  cta,     ///< where all threads of the CTA are together: barriers
  count
};

using Opcodes = std::vector<const isa::Opcode*>;

/// Rows and spellings without statements, and why.
struct Skip {
  std::string row;
  unsigned spellings = 0;  ///< 0: the whole row
  std::string_view reason;
};

/// By place, by row: opcodes to draw from. Rows are drawn with equal chance, whatever their number of
/// spellings.
struct Catalogue {
  std::array<std::vector<Opcodes>, std::size_t(Place::count)> places;
  std::vector<Opcodes> sums;  ///< by row: atomics on a cell that all threads may use in any order (see sum())
  std::vector<Skip> skipped;
};
const Catalogue& catalogue();

/// Whether values of the type are floats, one or several.
bool is_fractional(isa::Type type);
/// Whether the opcode both reads and writes memory.
bool is_atomic(const isa::Opcode& opcode);
/// Whether an operand of such a kind is there.
bool has_operand(const isa::Row& row, isa::OperandKind kind);
bool has_destination(const isa::Row& row);

}  // namespace raddle::diff
