// A page table as it lies in memory (table_memory.h): four levels of tables, each a frame of 512 words. A
// word of an upper level leads to a table of the next one, or is a huge page; one of the last level is a
// small page, or a sixteenth of a big one. The host enters and removes pages while walkers read.
//
//   bit 0 valid | 1 page, not table | 2..4 may be read, written, changed by atomics | 5 page or table is the
//   host's | 6 big | 12..51 physical address
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "machine/mmu/page.h"
#include "machine/mmu/table_memory.h"

namespace raddle::machine {

class PageEntry {
 public:
  explicit PageEntry(std::uint64_t bits = 0) : bits_(bits) {}
  static PageEntry of_table(TableBase table);
  static PageEntry of_page(const Page& page);

  std::uint64_t bits() const { return bits_; }
  bool is_valid() const { return (bits_ & 1) != 0; }
  bool is_page() const { return (bits_ & 2) != 0; }
  TableBase table() const;
  /// @param level  of the table that it is in
  Page page(unsigned level) const;

 private:
  std::uint64_t bits_;
};

class PageTable {
 public:
  static constexpr unsigned kLevels = 4, kIndexBits = 9;
  static constexpr unsigned kLastLevel = kLevels - 1, kHugeLevel = kLevels - 2;
  static constexpr std::uint64_t kAddresses = std::uint64_t{1} << (12 + kLevels * kIndexBits);

  /// Which bits of an address a level translates: from this one on.
  static constexpr unsigned shift_at(unsigned level) { return 12 + (kLastLevel - level) * kIndexBits; }
  /// Where the word for an address lies in its table, in bytes.
  static std::uint64_t offset_of(unsigned level, std::uint64_t address) {
    return (address >> shift_at(level) & ((1u << kIndexBits) - 1)) * sizeof(std::uint64_t);
  }

  /// Without pages. @param memory  for the tables; outlives it @errors out_of_memory
  static Result<std::unique_ptr<PageTable>> create(TableMemory& memory);
  ~PageTable();
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  TableBase directory() const { return tables_.front(); }  ///< the first level
  /// The largest page that may begin at an address, of so many bytes that are wanted there.
  PageSize largest_at(std::uint64_t address, std::uint64_t physical, std::uint64_t bytes) const;
  /// One call at a time. @param address  a multiple of the page's size, as its physical address is
  /// @errors invalid: not so, or there are pages already; out_of_memory: for tables
  Result<void> enter(std::uint64_t address, const Page& page);
  /// @returns the page that began there; nothing: none did
  std::optional<Page> remove(std::uint64_t address);

 private:
  explicit PageTable(TableMemory& memory) : memory_(memory) {}
  Result<TableBase> add_table();
  /// The table of a level that is for an address; nothing: none, or a huge page.
  std::optional<TableBase> table_for(std::uint64_t address, unsigned level) const;
  Result<TableBase> make_table_for(std::uint64_t address, unsigned level);
  PageEntry read(TableBase table, std::uint64_t offset) const {
    return PageEntry(memory_.word(table, offset).load());
  }

  TableMemory& memory_;
  std::vector<TableBase> tables_;  // that stay, even empty, as walkers may read them
};

}  // namespace raddle::machine
