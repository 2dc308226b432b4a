// Backtracking match of modifiers, a set with few rules of order, against the slots of a form (isa/match.h).
#include "isa/match.h"

#include <algorithm>

namespace raddle::isa {
namespace {

bool accepts(const ModSlot& slot, const Word& word) {
  if (word.type != Type::none)
    return std::find(slot.types.begin(), slot.types.end(), word.type) != slot.types.end();
  return std::find(slot.mods.begin(), slot.mods.end(), word.mod) != slot.mods.end();
}

/// Whether these two words must stand in the order of their slots.
bool ordered(const Word& a, const Word& b) {
  if (a.type != Type::none || b.type != Type::none) return a.type != Type::none && b.type != Type::none;
  const ModKind kind = mod_kind(a.mod);
  return kind == mod_kind(b.mod) && kind != ModKind::flag && kind != ModKind::other;
}

class Matcher {
 public:
  Matcher(const Form& form, std::span<const Word> words, Assignment& assignment)
      : form_(form), words_(words), assignment_(assignment) {}

  bool place(std::size_t word) {
    if (word == words_.size()) return all_mandatory_used();
    for (std::size_t slot = 0; slot < form_.slots.size(); ++slot) {
      if ((used_ >> slot & 1) || !accepts(form_.slots[slot], words_[word]) || !in_order(word, slot)) continue;
      used_ |= std::uint32_t{1} << slot;
      assignment_[word] = static_cast<std::uint8_t>(slot);
      if (place(word + 1)) return true;
      used_ &= ~(std::uint32_t{1} << slot);
    }
    return false;
  }

 private:
  bool in_order(std::size_t word, std::size_t slot) const {
    for (std::size_t i = 0; i < word; ++i)
      if (assignment_[i] > slot && ordered(words_[i], words_[word])) return false;
    return true;
  }

  bool all_mandatory_used() const {
    for (std::size_t slot = 0; slot < form_.slots.size(); ++slot)
      if (!form_.slots[slot].optional && !(used_ >> slot & 1)) return false;
    return true;
  }

  const Form& form_;
  std::span<const Word> words_;
  Assignment& assignment_;
  std::uint32_t used_ = 0;
};

}  // namespace

Word make_word(std::string_view text) {
  Word word;
  word.text = text;
  word.mod = mod_from_name(text);
  if (word.mod == Mod::none) word.type = type_from_name(text);
  return word;
}

bool match_form(const Form& form, std::span<const Word> words, Assignment& assignment) {
  if (words.size() > form.slots.size()) return false;
  return Matcher(form, words, assignment).place(0);
}

Opcode make_opcode(const Row& row, const Form& form, std::span<const Word> words,
                   const Assignment& assignment, std::string_view text) {
  Opcode opcode;
  opcode.op = row.op;
  opcode.row = &row;
  opcode.form = &form;
  opcode.text = text;
  for (std::size_t slot = 0; slot < form.slots.size(); ++slot) {
    const auto word = std::find_if(words.begin(), words.end(), [&](const Word& w) {
      return assignment[static_cast<std::size_t>(&w - words.data())] == slot;
    });
    if (!form.slots[slot].types.empty()) {
      opcode.types[opcode.type_count++] = word == words.end() ? Type::none : word->type;
    }
    if (word == words.end() || word->mod == Mod::none) continue;
    opcode.mods.set(static_cast<std::size_t>(word->mod));
    opcode.by_kind[static_cast<std::size_t>(mod_kind(word->mod))] = word->mod;
  }
  return opcode;
}

}  // namespace raddle::isa
