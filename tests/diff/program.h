// Random programs as trees of statements: made from the instruction rows, rendered as PTX text, shrunk by dropping
// statements. The registers of a program are pools by width; every one is read from the input and written to the output.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isa/harness/operands.h"

namespace raddle::testing {

struct Statement {
  enum class Kind : std::uint8_t {
    plain,   ///< `lines` as they are
    branch,  ///< if (condition) first else second
    loop,    ///< first, as often as the low bits of `count` say; conditions for break and continue where given
    finish,  ///< lanes with the condition jump to the end
    leave,   ///< lanes with the condition exit; nothing of theirs is written
  };
  Kind kind = Kind::plain;
  unsigned id = 0;                     ///< makes labels unique
  std::vector<std::string> lines;
  std::string condition, count;        ///< registers
  std::string break_if, continue_if;   ///< predicate registers, or empty
  std::vector<std::unique_ptr<Statement>> first, second;
  bool dropped = false, flattened = false;  ///< by the shrinker; flattened: the bodies without the control flow
};

using Statements = std::vector<std::unique_ptr<Statement>>;

struct Program {
  std::uint64_t seed = 0;
  Statements statements;
};

inline constexpr unsigned kPredicates = 4, kShorts = 5, kWords = 8, kLongs = 5;
inline constexpr unsigned kProgramSlots = kPredicates + kShorts + kWords + kLongs;  ///< of 8 bytes per lane, in and out
inline constexpr unsigned kPrivateBytes = 64;      ///< per lane, in each of global, shared and local memory

/// A program that depends on the seed alone. Even seeds are straight-line, odd ones have control flow.
Program random_program(std::uint64_t seed);

/// PTX text with one kernel `test(out, in, memory)`.
std::string render(const Program& program);

/// Statements that are not dropped.
unsigned size_of(const Program& program);

/// Makes the program smaller as long as `fails` holds; at most `attempts` tries.
void shrink(Program& program, unsigned attempts, const std::function<bool(const Program&)>& fails);

}  // namespace raddle::testing
