#include "machine/mmu/page_table.h"

namespace raddle::machine {
namespace {
constexpr std::uint64_t kValid = 1, kIsPage = 2, kRead = 4, kWrite = 8, kAtomic = 16, kHost = 32, kBig = 64;
constexpr std::uint64_t kPhysical = ((std::uint64_t{1} << 52) - 1) & ~std::uint64_t{0xfff};

/// How many words of its level a page takes.
constexpr unsigned words_of(PageSize size) {
  return size == PageSize::big ? static_cast<unsigned>(bytes_of(PageSize::big) / bytes_of(PageSize::small))
                               : 1;
}
constexpr unsigned level_of(PageSize size) {
  return size == PageSize::huge ? PageTable::kHugeLevel : PageTable::kLastLevel;
}
}  // namespace

PageEntry PageEntry::of_table(TableBase table) {
  return PageEntry(table.physical | kValid | (table.aperture == Aperture::host ? kHost : 0));
}

PageEntry PageEntry::of_page(const Page& page) {
  std::uint64_t bits = page.physical | kValid | kIsPage;
  if (page.permissions.read) bits |= kRead;
  if (page.permissions.write) bits |= kWrite;
  if (page.permissions.atomic) bits |= kAtomic;
  if (page.aperture == Aperture::host) bits |= kHost;
  if (page.size == PageSize::big) bits |= kBig;
  return PageEntry(bits);
}

TableBase PageEntry::table() const {
  return {bits_ & kPhysical, (bits_ & kHost) != 0 ? Aperture::host : Aperture::device};
}

Page PageEntry::page(unsigned level) const {
  const bool is_big = (bits_ & kBig) != 0;
  return {.physical = bits_ & kPhysical,
          .size = level == PageTable::kHugeLevel ? PageSize::huge
                  : is_big                       ? PageSize::big
                                                 : PageSize::small,
          .permissions = {.read = (bits_ & kRead) != 0,
                          .write = (bits_ & kWrite) != 0,
                          .atomic = (bits_ & kAtomic) != 0},
          .aperture = (bits_ & kHost) != 0 ? Aperture::host : Aperture::device};
}

Result<std::unique_ptr<PageTable>> PageTable::create(TableMemory& memory) {
  std::unique_ptr<PageTable> made(new PageTable(memory));
  TRY(made->add_table());
  return made;
}

PageTable::~PageTable() {
  for (const TableBase table : tables_) memory_.give_back(table);
}

Result<TableBase> PageTable::add_table() {
  const auto table = memory_.take();
  if (!table) return Error::make(ErrorCode::out_of_memory, "no memory is left for a page table");
  tables_.push_back(*table);
  return *table;
}

std::optional<TableBase> PageTable::table_for(std::uint64_t address, unsigned level) const {
  TableBase table = directory();
  for (unsigned above = 0; above < level; ++above) {
    const PageEntry entry = read(table, offset_of(above, address));
    if (!entry.is_valid() || entry.is_page()) return std::nullopt;
    table = entry.table();
  }
  return table;
}

Result<TableBase> PageTable::make_table_for(std::uint64_t address, unsigned level) {
  TableBase table = directory();
  for (unsigned above = 0; above < level; ++above) {
    const TableBase parent = table;
    const std::uint64_t offset = offset_of(above, address);
    const PageEntry entry = read(parent, offset);
    if (entry.is_page()) return Error::invalid("there is a huge page at {:#x}", address);
    table = entry.table();
    if (entry.is_valid()) continue;
    TRY_ASSIGN(table, add_table());
    memory_.word(parent, offset).store(PageEntry::of_table(table).bits());
  }
  return table;
}

// Where smaller pages once were, their table stays, so a huge page cannot.
PageSize PageTable::largest_at(std::uint64_t address, std::uint64_t physical, std::uint64_t bytes) const {
  for (const PageSize size : {PageSize::huge, PageSize::big})
    if (bytes >= bytes_of(size) && (address | physical) % bytes_of(size) == 0 &&
        (size != PageSize::huge || !table_for(address, kLastLevel)))
      return size;
  return PageSize::small;
}

Result<void> PageTable::enter(std::uint64_t address, const Page& page) {
  const std::uint64_t bytes = bytes_of(page.size);
  if (address % bytes != 0 || page.physical % bytes != 0 || address > kAddresses - bytes)
    return Error::invalid("no page of {} bytes can be at {:#x} with physical address {:#x}", bytes, address,
                          page.physical);
  const unsigned level = level_of(page.size);
  TRY_ASSIGN(const TableBase table, make_table_for(address, level));
  const std::uint64_t first = offset_of(level, address);
  const unsigned words = words_of(page.size);
  for (unsigned i = 0; i < words; ++i)
    if (read(table, first + i * sizeof(std::uint64_t)).is_valid())
      return Error::invalid("there are pages at {:#x} already", address);
  for (unsigned i = 0; i < words; ++i)
    memory_.word(table, first + i * sizeof(std::uint64_t)).store(PageEntry::of_page(page).bits());
  return {};
}

std::optional<Page> PageTable::remove(std::uint64_t address) {
  for (const unsigned level : {kHugeLevel, kLastLevel}) {
    const auto table = table_for(address, level);
    if (!table) continue;
    const std::uint64_t first = offset_of(level, address);
    const PageEntry entry = read(*table, first);
    if (!entry.is_valid() || !entry.is_page()) continue;
    const Page page = entry.page(level);
    if (address % bytes_of(page.size) != 0) return std::nullopt;
    for (unsigned i = 0; i < words_of(page.size); ++i)
      memory_.word(*table, first + i * sizeof(std::uint64_t)).store(0);
    return page;
  }
  return std::nullopt;
}

}  // namespace raddle::machine
