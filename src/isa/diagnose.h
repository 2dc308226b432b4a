// Error messages of the resolver: what is wrong with an opcode, what would be right.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "isa/match.h"

namespace raddle::isa {

/// No row has this mnemonic: code `unsupported`, with the nearest mnemonic if one is near.
Error unknown_instruction(std::string_view text, std::string_view mnemonic);

/// The mnemonic exists, the modifiers fit no form. Code `unsupported` when a modifier is in no row at all
/// (newer than us, or misspelt), else `invalid`. The message quotes the forms.
/// @param rule  the rule that the matching form breaks, by RowText::where; empty if no form matched
Error illegal_modifiers(std::string_view text, std::span<const Op> candidates, std::span<const Word> words,
                        std::string_view rule);

/// A form with its sets spelled out: "add.{u16,u32,...} d, a, b".
std::string describe(const Row& row, const Form& form);

}  // namespace raddle::isa
