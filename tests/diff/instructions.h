// Random instructions drawn from the rows: which rows suit a place in a program, spelling, operands,
// addresses. Nothing here names an opcode to generate; what may stand where follows from a row's scope,
// effects and operands.
#pragma once

#include <string>
#include <vector>

#include "diff/program.h"
#include "isa/harness/operands.h"
#include "isa/row.h"

namespace raddle::diff {

using testing::Random;

/// Where a row's instructions may be put.
enum class Place : std::uint8_t {
  lane,    ///< anywhere: computes from registers (or only orders memory)
  memory,  ///< anywhere: reads or writes the thread's own slots
  warp,    ///< where all existing lanes of the warp are together
  cta,     ///< where all threads of the CTA are together: barriers
  count
};

/// What no statement is made of.
struct Skip {
  std::string row;
  unsigned spellings = 0;  ///< 0: the whole row
  std::string_view reason;
};
const std::vector<Skip>& skipped_opcodes();

/// Draws statements. Deterministic in the seed of its Random.
class InstructionSource {
 public:
  InstructionSource(Random& random, exec::BlockShape block) : random_(random), block_(block) {}

  /// Lines of one statement: the instruction, what computes its address, and what makes NaN results one NaN
  /// (PTX leaves their payload open, so it must not reach integer instructions).
  std::vector<std::string> statement(Place place);
  /// Float atomics of all threads on one cell; where all threads of the CTA are together.
  std::vector<std::string> accumulate();
  /// A predicate of the pool, perhaps with `!`.
  std::string predicate();
  /// A register of the pool that an operand of the type may name.
  std::string source_register(isa::Type type);

 private:
  struct Text {
    std::string operands;
    std::vector<std::string> before, after;
    std::vector<std::string> taken;  ///< destinations used: one instruction must not name one twice
  };
  bool write(const isa::Opcode& opcode, std::vector<std::string>& lines);
  std::string operand(const isa::Opcode& opcode, const isa::OperandSpec& spec, Text& text);
  std::string destination(const isa::Opcode& opcode, const isa::OperandSpec& spec, isa::Type type,
                          Text& text);
  std::string source(const isa::Opcode& opcode, const isa::OperandSpec& spec, isa::Type type, Text& text);
  std::string packed(isa::Type type, bool is_destination, Text& text);
  std::string address(const isa::Opcode& opcode, Text& text);
  std::string lane_in_warp(const isa::Opcode& opcode, const isa::OperandSpec& spec, Text& text);
  std::string pick(isa::Type type, bool wider, const std::vector<std::string>& taken);

  Random& random_;
  exec::BlockShape block_;
};

}  // namespace raddle::diff
