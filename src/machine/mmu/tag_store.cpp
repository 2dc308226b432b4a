#include "machine/mmu/tag_store.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace raddle::machine {

TagStore::TagStore(const TagStoreSpec& spec)
    : ways_(spec.ways == 0 ? spec.entries : spec.ways),
      sets_(spec.entries / ways_),
      replacement_(spec.replacement),
      entries_(spec.entries),
      chains_(std::bit_ceil(spec.entries * 2ull), kNone) {
  RADDLE_ASSERT(spec.entries != 0 && spec.entries % ways_ == 0, "sets of unequal size");
}

std::uint32_t& TagStore::chain_of(const Tag& tag) {
  const std::uint64_t hash = (tag.number ^ tag.space << 40 ^ tag.space) * 0x9e3779b97f4a7c15;
  return chains_[hash >> 32 & (chains_.size() - 1)];
}

std::optional<unsigned> TagStore::find(const Tag& tag) {
  for (std::uint32_t i = chain_of(tag); i != kNone; i = entries_[i].next) {
    if (entries_[i].tag != tag) continue;
    if (replacement_ == Replacement::lru) entries_[i].since = ++clock_;
    return i;
  }
  return std::nullopt;
}

unsigned TagStore::next_for(const Tag& tag) {
  const unsigned first = static_cast<unsigned>(tag.number % sets_) * ways_;
  const auto begin = entries_.begin() + first, end = begin + ways_;
  const auto free = std::find_if(begin, end, [](const Entry& entry) { return !entry.is_used; });
  if (free != end) return static_cast<unsigned>(free - entries_.begin());
  if (replacement_ == Replacement::random) return first + static_cast<unsigned>(random_ % ways_);
  const auto oldest =
      std::min_element(begin, end, [](const Entry& a, const Entry& b) { return a.since < b.since; });
  return static_cast<unsigned>(oldest - entries_.begin());
}

unsigned TagStore::place(const Tag& tag) {
  const unsigned i = next_for(tag);
  random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
  if (entries_[i].is_used) drop(i);
  std::uint32_t& chain = chain_of(tag);
  entries_[i] = {.tag = tag, .since = ++clock_, .next = chain, .is_used = true};
  chain = i;
  return i;
}

void TagStore::drop(unsigned entry) {
  std::uint32_t* link = &chain_of(entries_[entry].tag);
  while (*link != entry) link = &entries_[*link].next;
  *link = entries_[entry].next;
  entries_[entry].is_used = false;
}

}  // namespace raddle::machine
