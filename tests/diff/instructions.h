// Statements of random programs: instructions drawn from the catalogue with operands and addresses, and
// patterns in which threads work together (patterns.cpp).
#pragma once

#include <string>
#include <vector>

#include "diff/catalogue.h"
#include "diff/program.h"
#include "isa/harness/operands.h"
#include "isa/row.h"

namespace raddle::diff {

using testing::Random;

/// Draws statements. Deterministic in the seed of its Random.
class InstructionSource {
 public:
  InstructionSource(Random& random, exec::BlockShape block) : random_(random), block_(block) {}

  /// Lines of one statement: the instruction, what computes its address, and what makes NaN results one NaN
  /// (PTX leaves their payload open, so it must not reach integer instructions).
  std::vector<std::string> statement(Place place);
  /// From here on warp operations name these lanes: "%members" (all, at first), "%subset", "%others".
  void set_members(std::string mask) { members_ = std::move(mask); }

  // Patterns: where all threads of the CTA are together.
  /// Atomics of all threads on one cell of shared or global memory.
  std::vector<std::string> sum();
  /// Threads pass 8 bytes to each other between barriers.
  std::vector<std::string> exchange();
  /// Some warps write, arrive at a barrier without waiting and go on; the others wait there and read. For
  /// CTAs of several whole warps without missing lanes.
  std::vector<std::string> hand_over();
  /// Everyone writes its own cell; to stand before something with a non-aligned barrier, and after it
  /// read_exchanged().
  std::vector<std::string> write_exchanged();
  std::vector<std::string> read_exchanged();

  // Patterns of a thread on its own.
  /// A thread's own data: special registers, and the space of an address.
  std::vector<std::string> place_in_grid();
  /// Memory from the stack, written, read and given back.
  std::vector<std::string> stack_memory();

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
  void one_nan_in_memory(const isa::Opcode& opcode, const std::string& address, Text& text);
  std::string summand(isa::Type type, std::vector<std::string>& lines);
  std::string lane_in_warp(const isa::Opcode& opcode, const isa::OperandSpec& spec, Text& text);
  std::string pick(isa::Type type, bool wider, const std::vector<std::string>& taken);

  Random& random_;
  exec::BlockShape block_;
  std::string members_ = "%members";
};

}  // namespace raddle::diff
