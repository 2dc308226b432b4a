// The tags of a TLB or a cache: which of the entries of a set holds what, and which has to go. Sets are
// chosen by the lowest bits of a tag's number; one set of all entries is full associativity.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace raddle::machine {

/// What makes room in a full set.
enum class Replacement : std::uint8_t {
  lru,     ///< what was used least recently
  fifo,    ///< what came first
  random,  ///< any, drawn from a fixed seed
};

struct TagStoreSpec {
  unsigned entries = 32;  ///< at least one
  unsigned ways = 0;      ///< entries of a set, which divide those; 0: fully associative
  Replacement replacement = Replacement::lru;

  bool operator==(const TagStoreSpec&) const = default;
};

struct Tag {
  std::uint64_t number = 0;  ///< of a page or a line
  std::uint64_t space = 0;   ///< what tells equal numbers apart

  bool operator==(const Tag&) const = default;
};

class TagStore {
 public:
  explicit TagStore(const TagStoreSpec& spec);

  /// The entry that has a tag, which counts as used now.
  std::optional<unsigned> find(const Tag& tag);
  /// Gives an entry to a tag that none has. @returns it; tag_of() told before whose it was
  unsigned place(const Tag& tag);
  /// The entry that place() would give to this tag.
  unsigned next_for(const Tag& tag);
  bool is_used(unsigned entry) const { return entries_[entry].is_used; }
  const Tag& tag_of(unsigned entry) const { return entries_[entry].tag; }
  void drop(unsigned entry);

 private:
  static constexpr std::uint32_t kNone = ~0u;
  struct Entry {
    Tag tag;
    std::uint64_t since = 0;  // it was used last, or came
    std::uint32_t next = kNone;
    bool is_used = false;
  };
  std::uint32_t& chain_of(const Tag& tag);

  const unsigned ways_, sets_;
  const Replacement replacement_;
  std::vector<Entry> entries_;         // set by set
  std::vector<std::uint32_t> chains_;  // by hash: the first entry; its `next` leads on
  std::uint64_t clock_ = 0, random_ = 0x9e3779b97f4a7c15;
};

}  // namespace raddle::machine
