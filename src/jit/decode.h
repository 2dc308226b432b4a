// Which memory a machine instruction accesses, from the registers before it ran: names the address of a fault
// that arrives without one (a non-canonical address), and its element of a gather. Not for signal
// handlers: it allocates.
#pragma once

#include <cstdint>
#include <optional>

#include "exec/registers.h"

namespace raddle::jit {

struct DecodedAccess {
  std::uint64_t address = 0;
  std::optional<unsigned> element;  ///< of a vector, the first that can have faulted; not known of every form
  unsigned elements = 0;            ///< that the vector has
  bool is_write = false;
};

/// @param code     address of the instruction, in this process
/// @param elements  that the instruction moves as far as its place in the code tells; 0: it does not
/// @param faulted  the address that faulted where it is known: picks the element; 0: one that is not
/// canonical
/// @returns nothing for an instruction without an explicit memory operand, or one that does not decode
std::optional<DecodedAccess> decode_access(std::uint64_t code, const exec::SavedRegisters& registers,
                                           std::uint64_t faulted, unsigned elements);

}  // namespace raddle::jit
