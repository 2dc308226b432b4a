// Operands as they stand in the text, before the instruction's row says what each must be.
#pragma once

#include "ptx/state.h"

namespace raddle::ptx {

struct RawOperand {
  Operand operand;                   ///< of a vector: index and count are into Parser::elements
  Constant constant;                 ///< of an immediate
  NameId name = NameTable::kNoName;  ///< a plain identifier, bound or not
  bool joined = false;               ///< written `|x` behind the one before it
  bool open = false;                 ///< an address whose brackets hold more: the ']' is not passed
  bool bracketed = false;            ///< in the brackets of the one before it: `[a, x]`
  Position at;
  std::string_view text;
};

/// Reads `a, b|c, [d + 4], {e, f}` up to the ';' (not passed) into Parser::operands and Parser::elements.
bool parse_operands(Parser& parser);
/// One operand, appended to `out`.
bool parse_operand(Parser& parser, std::vector<RawOperand>& out);

}  // namespace raddle::ptx
