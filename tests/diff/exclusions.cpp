// The exclusion list. An entry names a row, or a row and a modifier; remove it when its reason is gone.
#include "diff/exclusions.h"

namespace raddle::diff {
namespace {

struct Exclusion {
  std::string_view row;
  std::string_view modifier;  ///< with the dot; empty: the whole row
  std::string_view reason;
};

constexpr Exclusion kExclusions[] = {
    {"ld", ".nc", "memory read through .nc must not be written by the kernel; the private slots are"},
    {"ld", ".param::func",
     "reads a formal parameter of a device function: the generator writes the functions"},
    {"ldu", "", "reads read-only memory at an address common to the warp; the private slots are neither"},
    {"st", ".param", "writes an argument of a call: the generator writes the calls"},
};

}  // namespace

std::string_view excluded(std::string_view row, std::string_view opcode) {
  for (const Exclusion& e : kExclusions)
    if (e.row == row && (e.modifier.empty() || opcode.find(e.modifier) != opcode.npos)) return e.reason;
  return {};
}

}  // namespace raddle::diff
