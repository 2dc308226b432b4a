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
    {"ld", ".param::func",
     "reads a formal parameter of a device function: the generator writes the functions"},
    {"discard", "", "what memory holds afterwards is open"},
    {"applypriority", "", "names 128 bytes; the private slots have 64"},
    {"prefetch", ".tensormap", "names a descriptor; the private slots hold none"},
    {"prefetch", ".param", "needs an address of parameter space"},
    {"st", ".param", "writes an argument of a call: the generator writes the calls"},
};

}  // namespace

std::string_view excluded(std::string_view row, std::string_view opcode) {
  for (const Exclusion& e : kExclusions)
    if (e.row == row && (e.modifier.empty() || opcode.find(e.modifier) != opcode.npos)) return e.reason;
  return {};
}

bool reads_constants(std::string_view row, std::string_view opcode) {
  return row == "ldu" || opcode.find(".nc") != opcode.npos;
}

}  // namespace raddle::diff
