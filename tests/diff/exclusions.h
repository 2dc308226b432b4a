// What the random programs leave out although the rows call it done: the one list, each entry with its
// reason.
#pragma once

#include <string_view>

namespace raddle::diff {

/// Why an opcode is not generated; empty if it is.
/// @param row     the row's id
/// @param opcode  full text, "ld.global.nc.u32"
std::string_view excluded(std::string_view row, std::string_view opcode);

}  // namespace raddle::diff
