// Between which numbers integers of 32 bits lie, for every thread: what a thread's place in its block, masks,
// shifts and the conditions of loops say. So `i / 4` and `i % 64`, which compilers write with the sign of i,
// need no sign.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "ptx/cfg.h"

namespace raddle::jit {

/// Signed numbers of 32 bits, both ends included.
struct Range {
  std::int64_t least = std::numeric_limits<std::int32_t>::min();
  std::int64_t most = std::numeric_limits<std::int32_t>::max();

  bool is_one() const { return least == most; }
  friend bool operator==(const Range&, const Range&) = default;
};

class Ranges {
 public:
  Ranges(const ptx::Function& function, const ptx::Cfg& cfg, const ptx::Liveness& live);

  /// What threads may read in a register; all numbers where nothing is known, and of other than 32 bits.
  Range of(ptx::RegisterId r) const { return registers_[r].range; }

 private:
  /// One more definition of a register: in a block that goes back to where it is read while a condition
  /// holds.
  struct Step {
    std::uint32_t at = ptx::kNone;  ///< instruction
    std::int64_t addend = 0;
    std::int64_t most_before = 0;  ///< of the register, where the block is entered again
  };
  struct Register {
    std::vector<std::uint32_t> definitions;
    Range range;
    bool is_known = false;  ///< or is being found
  };

  const ptx::Instruction& at(std::uint32_t n) const { return function_.instructions[n]; }
  Range known(ptx::RegisterId r);
  Range known(const ptx::Operand& o);
  bool is_followed(ptx::RegisterId r) const;
  Range find(ptx::RegisterId r);
  Step step_of(ptx::RegisterId r, std::uint32_t n) const;
  std::int64_t limit_of(const ptx::Instruction& branch, ptx::RegisterId compared, std::uint32_t& n) const;
  Range result(std::uint32_t n);
  Range special(const ptx::Operand& o) const;
  Range product(const ptx::Operand& a, const ptx::Operand& b);
  bool is_remainder(std::uint32_t n, std::int64_t& divisor);
  ptx::Operand same_as(const ptx::Operand& o, std::uint32_t& before);
  std::uint32_t only_definition(const ptx::Operand& o) const;

  const ptx::Function& function_;
  const ptx::Cfg& cfg_;
  const ptx::Liveness& live_;
  std::vector<Register> registers_;
  std::vector<ptx::BlockId> block_of_;  ///< by instruction
  unsigned depth_ = 0;
};

}  // namespace raddle::jit
