// Opcode text -> Opcode: splits at the dots, asks every row of the mnemonic, remembers the answer for good.
// A parser calls resolve() once per instruction, so a hit costs one look-up in a table of the calling thread.
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "base/thread_value.h"
#include "isa/diagnose.h"
#include "isa/match.h"

namespace raddle::isa {
namespace {

struct Answer {
  std::unique_ptr<const Opcode> opcode;  // null: `error`
  Error error;
};

/// Remembered spellings that no row accepts are dropped beyond this number: only hostile text has so many.
constexpr std::size_t kMaxFailures = 4096;

/// All answers so far, shared by threads. Opcodes are never removed.
class Memo {
 public:
  const Opcode* find(std::string_view text) {
    const std::shared_lock lock(mutex_);
    const auto found = opcodes_.find(text);
    return found == opcodes_.end() ? nullptr : found->second.get();
  }

  const Opcode* add(std::unique_ptr<const Opcode> opcode) {
    const std::unique_lock lock(mutex_);
    const std::string_view key = opcode->text;
    return opcodes_.try_emplace(key, std::move(opcode)).first->second.get();
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<std::string_view, std::unique_ptr<const Opcode>> opcodes_;  // keys point into the values
};

Memo& memo() {
  static Memo the_memo;
  return the_memo;
}

/// Splits "ld.shared::cta.u32" at the dots; false if there are more modifiers than any form has.
bool split(std::string_view text, std::string_view& mnemonic, std::array<Word, kMaxWords>& words,
           std::size_t& count) {
  std::size_t end = std::min(text.find('.'), text.size());
  mnemonic = text.substr(0, end);
  while (end < text.size()) {
    if (count == words.size()) return false;
    const std::size_t begin = end + 1;
    end = std::min(text.find('.', begin), text.size());
    words[count++] = make_word(text.substr(begin, end - begin));
  }
  return true;
}

Answer match(std::string_view text) {
  std::string_view mnemonic, rule;
  std::array<Word, kMaxWords> buffer;
  std::size_t count = 0;
  if (!split(text, mnemonic, buffer, count))
    return {nullptr, Error::invalid("'{}' has too many modifiers", text)};
  const auto candidates = rows_of_mnemonic(mnemonic);
  if (candidates.empty()) return {nullptr, unknown_instruction(text, mnemonic)};
  const std::span<const Word> words(buffer.data(), count);
  Assignment assignment;
  for (const Op op : candidates) {
    const Row& row = isa::row(op);
    for (const Form& form : row.forms) {
      if (!match_form(form, words, assignment)) continue;
      auto opcode = std::make_unique<const Opcode>(make_opcode(row, form, words, assignment, text));
      const std::string_view broken = row.text->where ? row.text->where(*opcode) : std::string_view();
      if (broken.empty()) return {std::move(opcode), {}};
      rule = broken;
    }
  }
  return {nullptr, illegal_modifiers(text, candidates, words, rule)};
}

}  // namespace

Result<const Opcode*> resolve(std::string_view text) {
  // Keys of the first point into the opcodes.
  auto& hits = thread_value<std::unordered_map<std::string_view, const Opcode*>, struct Hits>();
  auto& failures = thread_value<std::unordered_map<std::string, Error>, struct Failures>();
  if (const auto hit = hits.find(text); hit != hits.end()) return hit->second;
  const Opcode* opcode = memo().find(text);
  if (!opcode) {
    if (const auto failure = failures.find(std::string(text)); failure != failures.end())
      return failure->second;
    Answer answer = match(text);
    if (!answer.opcode) {
      if (failures.size() >= kMaxFailures) failures.clear();
      return failures.emplace(text, std::move(answer.error)).first->second;
    }
    opcode = memo().add(std::move(answer.opcode));
  }
  hits.emplace(opcode->text, opcode);
  return opcode;
}

}  // namespace raddle::isa
