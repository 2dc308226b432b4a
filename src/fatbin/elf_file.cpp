#include "fatbin/elf_file.h"

namespace raddle::fatbin {
namespace {

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
    file.sections_.push_back({name, {static_cast<const char*>(data->d_buf), data->d_size}});
  }
  return file;
}

}  // namespace raddle::fatbin
