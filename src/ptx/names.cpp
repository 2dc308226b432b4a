// Open addressing with linear probing, at most half full.
#include "ptx/names.h"

#include <cstring>

namespace raddle::ptx {

std::uint64_t hash_text(std::string_view text) {
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15ull;
  std::uint64_t hash = text.size() * kMultiplier;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t chunk;
    std::memcpy(&chunk, at, 8);
    hash = (hash ^ chunk) * kMultiplier;
    hash ^= hash >> 32;
  }
  std::uint64_t chunk = 0;
  std::memcpy(&chunk, at, left);
  hash = (hash ^ chunk) * kMultiplier;
  hash ^= hash >> 29;
  hash *= kMultiplier;
  return hash ^ (hash >> 32);
}

NameId NameTable::intern(std::string_view text) {
  const auto hash = static_cast<std::uint32_t>(hash_text(text));
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].id != kNoName) {
    if (slots_[at].hash == hash && texts_[slots_[at].id] == text) return slots_[at].id;
    at = (at + 1) & (slots_.size() - 1);
  }
  const NameId id = size();
  texts_.push_back(text);
  slots_[at] = {hash, id};
  if (texts_.size() * 2 > slots_.size()) grow();
  return id;
}

NameId NameTable::find(std::string_view text) const {
  const auto hash = static_cast<std::uint32_t>(hash_text(text));
  for (std::size_t at = hash & (slots_.size() - 1); slots_[at].id != kNoName;
       at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].hash == hash && texts_[slots_[at].id] == text) return slots_[at].id;
  return kNoName;
}

void NameTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.id == kNoName) continue;
    std::size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].id != kNoName) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

}  // namespace raddle::ptx
