// The ASID table: from the identifier of an address space to its page directory. An identifier is bound
// to a directory and unbound by commands of the context switcher, which also gives them out; each makes what
// TLBs keep of the identifier stale, so identifiers are used again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "machine/mmu/table_memory.h"

namespace raddle::machine {

/// Of an address space on a machine: a device context and a number within it. 0: of none.
using Asid = std::uint32_t;
inline constexpr Asid kNoAsid = 0;

/// What the table says of an identifier at a moment.
struct Binding {
  TableBase directory;           ///< the page directory's physical address
  std::uint64_t generation = 0;  ///< what TLBs took from an earlier one is stale
};

class AsidTable {
 public:
  /// @param count  of identifiers: 1 to count
  explicit AsidTable(unsigned count) : count_(count), entries_(std::make_unique<Entry[]>(count + 1)) {}

  /// Thread-safe, as all here.
  void bind(Asid asid, TableBase directory);
  void unbind(Asid asid);
  /// The page table has lost or changed pages.
  void invalidate(Asid asid);
  /// Nothing: it is not bound.
  std::optional<Binding> find(Asid asid) const;
  unsigned count() const { return count_; }

 private:
  struct Entry {
    std::atomic<std::uint64_t> directory{0};  // with kBound and kHost; 0: not bound
    std::atomic<std::uint64_t> generation{1};
  };
  static constexpr std::uint64_t kBound = 1, kHost = 2;  // a directory's address is that of a frame

  const unsigned count_;
  const std::unique_ptr<Entry[]> entries_;
};

}  // namespace raddle::machine
