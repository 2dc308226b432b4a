// Tests that need no file: every spelling that a row allows, run on all engines with typed random operands.
#pragma once

#include "isa/harness/check.h"

namespace raddle::testing {

struct SpellingOptions {
  unsigned rounds = 2;
  unsigned limit = 30;  ///< spellings per row; beyond it a sample: each modifier and type, then pairs of them
  std::uint64_t seed = 1;
  /// Else each batch runs on the first two engines and on one of the others, in turn, and fewer random
  /// selectors are drawn.
  bool every_engine = true;
};

/// The spellings of a row that are tested: all, or a sample with every pair of modifiers and types in some
/// spelling.
std::vector<const isa::Opcode*> sampled_spellings(const isa::Row& row, unsigned limit, std::uint64_t seed);

/// Cases for spellings: forms, optional operands, register widths, immediates.
/// Spellings whose operands only a hand-written kernel can give make no case.
std::vector<Case> spelling_cases(const isa::Row& row, const SpellingOptions& options);

/// Where a row begins in engines_in_turn: elsewhere for every row and seed.
std::size_t first_turn(const isa::Row& row, const SpellingOptions& options);

/// Runs the row's cases on the engines against the first of them, the interpreter.
void test_spellings(const isa::Row& row, const std::vector<NamedEngine>& engines,
                    const SpellingOptions& options, Report& report);

}  // namespace raddle::testing
