// Matching the modifiers of one opcode against one form: used by the resolver and by the enumerator's
// self-check.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "isa/row.h"

namespace raddle::isa {

constexpr std::size_t kMaxWords = 24;  ///< modifiers of one opcode

/// One modifier as written: a Mod or a Type; neither where no row knows the spelling.
struct Word {
  std::string_view text;
  Mod mod = Mod::none;
  Type type = Type::none;
  bool known() const { return mod != Mod::none || type != Type::none; }
};

Word make_word(std::string_view text);

/// The slot of each word.
using Assignment = std::array<std::uint8_t, kMaxWords>;

/// Assigns every word to a slot of its own so that no mandatory slot stays empty. Words may stand in any
/// order, except that types, and modifiers of one kind (flags and `other` excepted), keep the order of the
/// form's slots.
/// @returns whether there is such an assignment
bool match_form(const Form& form, std::span<const Word> words, Assignment& assignment);

/// The opcode that the words spell in that form; `where` is not asked.
Opcode make_opcode(const Row& row, const Form& form, std::span<const Word> words,
                   const Assignment& assignment, std::string_view text);

}  // namespace raddle::isa
