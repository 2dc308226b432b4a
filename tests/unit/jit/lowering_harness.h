// Runs one lowering alone: builds an LLVM function around it that reads every operand from an array of lanes,
// compiles it with ORC for a chosen set of CPU features and calls it. Lanes are 64-bit slots holding the
// operand's bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/row.h"

namespace raddle::jit::testing {

using Lanes = std::vector<std::uint64_t>;

/// CPU features a lowering may use; levels the host lacks fall back to what it has.
enum class Features { baseline, avx2, avx512 };

struct Call {
  std::string opcode;
  unsigned width = 16;  ///< lanes of the vector, 0: scalars
  Features features = Features::avx512;
  std::vector<Lanes> sources;         ///< one per source operand, as many lanes as the harness shall compute
  std::vector<int> constants;         ///< source positions that are immediates (their first lane counts)
  bool flushed_by_processor = false;  ///< marks the function as running with FTZ and DAZ
};

struct Results {
  std::vector<Lanes> destinations;  ///< by destination operand
  Lanes carry;                      ///< empty if the lowering wrote none
};

/// Lanes beyond a multiple of the width are padded with the first lane. A last source beyond the operands is
/// the carry.
Results run(const Call& call);

/// Number of lanes-wide vector instructions and of calls in the code for the opcode, for checks against
/// scalarisation.
std::string assembly(const Call& call);

/// Every width and feature set, for loops.
struct Variant {
  unsigned width;
  Features features;
  std::string name;
};
std::vector<Variant> variants();

}  // namespace raddle::jit::testing
