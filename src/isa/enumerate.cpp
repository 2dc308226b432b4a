// Enumerates the product of a form's slots as numbers in mixed radix, so that a huge product can be sampled.
#include "isa/enumerate.h"

#include <algorithm>
#include <unordered_set>

#include "isa/match.h"

namespace raddle::isa {
namespace {

constexpr std::uint64_t kHuge = std::uint64_t{1} << 40;  // products are cut here

class FormSpellings {
 public:
  FormSpellings(const Row& row, const Form& form) : row_(row), form_(form) {
    for (const ModSlot& slot : form.slots) {
      auto& options = options_.emplace_back();
      if (slot.optional) options.push_back({});
      for (const Mod mod : slot.mods) options.push_back({mod_name(mod), mod, Type::none});
      for (const Type type : slot.types) options.push_back({type_name(type), Mod::none, type});
      count_ = std::min(kHuge, count_ * options.size());
    }
  }

  std::uint64_t count() const { return count_; }
  std::size_t slots() const { return options_.size(); }
  std::size_t options(std::size_t slot) const { return options_[slot].size(); }

  /// The index whose digits are all zero but one.
  std::uint64_t single(std::size_t slot, std::size_t option) const {
    std::uint64_t index = option;
    for (std::size_t i = slot + 1; i < options_.size(); ++i)
      index = std::min(kHuge, index * options_[i].size());
    return index;
  }

  /// The spelling of that number, the last slot counting fastest; empty if the row's rule forbids it.
  std::string at(std::uint64_t index) const {
    std::array<std::size_t, kMaxWords> digits{};
    for (std::size_t i = options_.size(); i-- > 0; index /= options_[i].size())
      digits[i] = index % options_[i].size();
    std::array<Word, kMaxWords> words;
    Assignment assignment{};
    std::size_t count = 0;
    std::string text = row_.mnemonic;
    for (std::size_t i = 0; i < options_.size(); ++i) {
      const Word& word = options_[i][digits[i]];
      if (word.text.empty()) continue;
      text.append(".").append(word.text);
      assignment[count] = static_cast<std::uint8_t>(i);
      words[count++] = word;
    }
    if (!row_.text->where) return text;
    const Opcode opcode = make_opcode(row_, form_, {words.data(), count}, assignment, text);
    return row_.text->where(opcode).empty() ? text : std::string();
  }

 private:
  const Row& row_;
  const Form& form_;
  std::vector<std::vector<Word>> options_;  // by slot; an empty text: the slot stays empty
  std::uint64_t count_ = 1;
};

class Collector {
 public:
  explicit Collector(std::size_t limit) : limit_(limit) {}
  bool full() const { return spellings_.size() >= limit_; }
  std::size_t size() const { return spellings_.size(); }
  void add(std::string text) {
    if (!text.empty() && !full() && seen_.insert(text).second) spellings_.push_back(std::move(text));
  }
  std::vector<std::string> take() { return std::move(spellings_); }

 private:
  std::size_t limit_;
  std::vector<std::string> spellings_;
  std::unordered_set<std::string> seen_;
};

void sample(const FormSpellings& form, std::size_t share, Collector& out) {
  const std::size_t begin = out.size();
  for (std::size_t slot = 0; slot < form.slots(); ++slot)
    for (std::size_t option = 0; option < form.options(slot); ++option)
      out.add(form.at(form.single(slot, option)));
  std::uint64_t state = form.count();
  for (std::size_t tries = 0; tries < 4 * share && out.size() < begin + share; ++tries) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out.add(form.at((state >> 20) % form.count()));
  }
}

}  // namespace

std::vector<std::string> all_spellings(const Row& row, std::size_t limit) {
  Collector out(limit);
  for (std::size_t i = 0; i < row.forms.size() && !out.full(); ++i) {
    const FormSpellings form(row, row.forms[i]);
    const std::size_t share = (limit - out.size()) / (row.forms.size() - i);
    if (form.count() > share) {
      sample(form, share, out);
    } else {
      for (std::uint64_t index = 0; index < form.count(); ++index) out.add(form.at(index));
    }
  }
  return out.take();
}

}  // namespace raddle::isa
