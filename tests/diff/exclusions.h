// What the random programs leave out although the rows call it done: the one list, each entry with its
// reason.
#pragma once

#include <string_view>

namespace raddle::diff {

/// Why an opcode is not generated; empty if it is.
/// @param row     the row's id
/// @param opcode  full text, "ld.global.nc.u32"
std::string_view excluded(std::string_view row, std::string_view opcode);

/// Whether an opcode may only read memory that the kernel does not write (ldu: at an address common to the
/// warp).
bool reads_constants(std::string_view row, std::string_view opcode);

}  // namespace raddle::diff
