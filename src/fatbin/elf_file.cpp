#include "fatbin/elf_file.h"

namespace raddle::fatbin {
namespace {

std::string_view string_at(Elf* elf, std::size_t table, std::size_t offset) {
  const char* text = elf_strptr(elf, table, offset);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

void read_symbols(Elf* elf, Elf_Scn* table, const GElf_Shdr& header, ElfFile::Dynamic& dynamic) {
  Elf_Data* data = elf_getdata(table, nullptr);
  std::size_t names = 0;
  if (data == nullptr || header.sh_entsize == 0 || elf_getshdrstrndx(elf, &names) != 0) return;
  GElf_Sym symbol;
  for (int i = 1; gelf_getsym(data, i, &symbol) != nullptr; ++i) {
    Elf_Scn* section = symbol.st_shndx == SHN_UNDEF ? nullptr : elf_getscn(elf, symbol.st_shndx);
    GElf_Shdr where;
    const bool known = section != nullptr && gelf_getshdr(section, &where) != nullptr;
    dynamic.symbols.push_back({string_at(elf, header.sh_link, symbol.st_name),
                               known                          ? string_at(elf, names, where.sh_name)
                               : symbol.st_shndx == SHN_UNDEF ? std::string_view()
                                                              : std::string_view("?")});
  }
}

void read_entries(Elf* elf, Elf_Scn* table, const GElf_Shdr& header, ElfFile::Dynamic& dynamic) {
  Elf_Data* data = elf_getdata(table, nullptr);
  GElf_Dyn entry;
  for (int i = 0; data != nullptr && gelf_getdyn(data, i, &entry) != nullptr; ++i) {
    const std::string_view text = string_at(elf, header.sh_link, entry.d_un.d_val);
    if (entry.d_tag == DT_NEEDED) dynamic.needed.push_back(text);
    if (entry.d_tag == DT_RPATH) dynamic.rpath = text;
  }
}

Error malformed() { return Error::invalid("not a well-formed ELF file: {}", elf_errmsg(-1)); }

}  // namespace

Result<ElfFile> ElfFile::open(std::string_view bytes) {
  elf_version(EV_CURRENT);
  ElfFile file;
  // elf_memory() takes a pointer to mutable bytes, but writes none unless asked to.
  file.elf_.reset(elf_memory(const_cast<char*>(bytes.data()), bytes.size()));
  Elf* elf = file.elf_.get();
  GElf_Ehdr header;
  std::size_t names = 0;
  if (elf == nullptr || gelf_getehdr(elf, &header) == nullptr || elf_getshdrstrndx(elf, &names) != 0)
    return malformed();
  file.machine_ = header.e_machine;
  for (Elf_Scn* next = nullptr; (next = elf_nextscn(elf, next)) != nullptr;) {
    GElf_Shdr section;
    if (gelf_getshdr(next, &section) == nullptr) return malformed();
    const char* name = elf_strptr(elf, names, section.sh_name);
    const Elf_Data* data = elf_rawdata(next, nullptr);
    if (name == nullptr || data == nullptr || data->d_buf == nullptr) continue;
    file.sections_.push_back({name, {static_cast<const char*>(data->d_buf), data->d_size}, section.sh_info});
  }
  return file;
}

bool ElfFile::has_section(std::string_view name) const {
  for (const Section& section : sections_)
    if (section.name == name) return true;
  return false;
}

ElfFile::Dynamic ElfFile::dynamic() const {
  Dynamic dynamic;
  for (Elf_Scn* next = nullptr; (next = elf_nextscn(elf_.get(), next)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(next, &header) == nullptr) continue;
    if (header.sh_type == SHT_DYNSYM) read_symbols(elf_.get(), next, header, dynamic);
    if (header.sh_type == SHT_DYNAMIC) read_entries(elf_.get(), next, header, dynamic);
  }
  return dynamic;
}

}  // namespace raddle::fatbin
