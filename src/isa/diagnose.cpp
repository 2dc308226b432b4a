// Messages for opcodes that no row accepts (isa/diagnose.h).
#include "isa/diagnose.h"

#include <algorithm>
#include <vector>

namespace raddle::isa {
namespace {
constexpr std::size_t kMaxForms = 8;          // quoted in one message
constexpr std::size_t kMaxAlternatives = 10;  // quoted of one set

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> line(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) line[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = line[0];
    line[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = line[j];
      line[j] = std::min({replaced, line[j] + 1, line[j - 1] + 1});
    }
  }
  return line[b.size()];
}

/// The mnemonic that a misspelt one most likely meant; empty if none is near.
std::string_view nearest_mnemonic(std::string_view mnemonic) {
  if (mnemonic.size() > 32) return {};
  std::string_view best;
  std::size_t best_distance = mnemonic.size() <= 3 ? 2 : 3;
  for (const Row& row : rows()) {
    const std::size_t distance = edit_distance(mnemonic, row.mnemonic);
    if (distance >= best_distance) continue;
    best = row.mnemonic;
    best_distance = distance;
  }
  return best;
}

std::vector<std::string_view> alternatives(const ModSlot& slot) {
  std::vector<std::string_view> names;
  for (const Mod mod : slot.mods) names.push_back(mod_name(mod));
  for (const Type type : slot.types) names.push_back(type_name(type));
  return names;
}

bool takes(const ModSlot& slot, const Word& word) {
  return std::ranges::find(slot.mods, word.mod) != slot.mods.end() ||
         std::ranges::find(slot.types, word.type) != slot.types.end();
}

bool takes(const Form& form, const Word& word) {
  return std::ranges::any_of(form.slots, [&](const ModSlot& slot) { return takes(slot, word); });
}

bool in_some_slot(const Word& word, std::span<const Op> candidates) {
  return std::ranges::any_of(candidates, [&](const Op op) {
    return std::ranges::any_of(row(op).forms, [&](const Form& form) { return takes(form, word); });
  });
}

/// How many of the words the form has a slot for: the likeliest forms are quoted first.
std::ptrdiff_t affinity(const Form& form, std::span<const Word> words) {
  return std::ranges::count_if(words, [&](const Word& word) { return takes(form, word); });
}

std::string quoted_forms(std::span<const Op> candidates, std::span<const Word> words) {
  struct Choice {
    std::ptrdiff_t affinity;
    const Row* row;
    const Form* form;
  };
  std::vector<Choice> choices;
  for (const Op op : candidates)
    for (const Form& form : row(op).forms) choices.push_back({affinity(form, words), &row(op), &form});
  std::sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    if (a.affinity != b.affinity) return a.affinity > b.affinity;
    return a.row != b.row ? a.row < b.row : a.form < b.form;
  });
  std::string text = "\n  legal:";
  const std::size_t shown = std::min(kMaxForms, choices.size());
  for (std::size_t i = 0; i < shown; ++i) text += "\n    " + describe(*choices[i].row, *choices[i].form);
  if (shown < choices.size()) text += fmt::format("\n    and {} more forms", choices.size() - shown);
  return text;
}

}  // namespace

std::string describe(const Row& row, const Form& form) {
  std::string text = row.mnemonic;
  for (const ModSlot& slot : form.slots) {
    auto names = alternatives(slot);
    const bool cut = names.size() > kMaxAlternatives;
    if (cut) names.resize(kMaxAlternatives);
    std::string part = names.size() == 1 ? fmt::format(".{}", names[0])
                                         : fmt::format(".({}{})", fmt::join(names, "|"), cut ? "|..." : "");
    text += slot.optional ? "{" + part + "}" : part;
  }
  const std::size_t operands = form.text.find(' ');
  return operands == std::string::npos ? text : text + form.text.substr(operands);
}

Error unknown_instruction(std::string_view text, std::string_view mnemonic) {
  const std::string_view near = nearest_mnemonic(mnemonic);
  if (near.empty()) return Error::unsupported("unknown instruction '{}'", text);
  return Error::unsupported("unknown instruction '{}'; did you mean '{}'?", text, near);
}

Error illegal_modifiers(std::string_view text, std::span<const Op> candidates, std::span<const Word> words,
                        std::string_view rule) {
  if (!rule.empty()) return Error::invalid("'{}' is not legal: {}", text, rule);
  for (const Word& word : words)
    if (!word.known())
      return Error::unsupported(
          "'{}': modifier '.{}' is in no instruction of PTX ISA 9.0; misspelt, or newer than Raddle{}", text,
          word.text, quoted_forms(candidates, words));
  for (const Word& word : words)
    if (!in_some_slot(word, candidates))
      return Error::invalid("'{}': {} has no modifier '.{}'{}", text, row(candidates[0]).mnemonic, word.text,
                            quoted_forms(candidates, words));
  return Error::invalid("'{}': these modifiers do not go together{}", text, quoted_forms(candidates, words));
}

}  // namespace raddle::isa
