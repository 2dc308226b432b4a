// Fat binaries inside ELF files of the host: nvcc keeps them in two sections, one for plain compilation and
// one for code that was linked on the device side (-rdc=true), whose PTX is only in the second.
#include <gelf.h>
#include <libelf.h>

#include <memory>

#include "fatbin/image.h"

namespace raddle::fatbin {
namespace {

constexpr std::string_view kSections[] = {".nv_fatbin", "__nv_relfatbin"};
constexpr unsigned kCudaMachine = 190;  ///< e_machine of a cubin

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};

Error malformed() { return Error::invalid("not a well-formed ELF file: {}", elf_errmsg(-1)); }

Result<void> read_section(Elf* elf, Elf_Scn* section, std::size_t names, std::vector<Container>& containers) {
  GElf_Shdr header;
  if (gelf_getshdr(section, &header) == nullptr) return malformed();
  const char* name = elf_strptr(elf, names, header.sh_name);
  if (name == nullptr || (name != kSections[0] && name != kSections[1])) return {};
  const Elf_Data* data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  TRY_ASSIGN(std::vector<Container> found,
             read_containers({static_cast<const std::byte*>(data->d_buf), data->d_size}));
  std::move(found.begin(), found.end(), std::back_inserter(containers));
  return {};
}

}  // namespace

Result<std::vector<Container>> read_host_binary(std::string_view bytes) {
  elf_version(EV_CURRENT);
  // elf_memory() takes a pointer to mutable bytes, but writes none unless asked to.
  const std::unique_ptr<Elf, EndElf> elf(elf_memory(const_cast<char*>(bytes.data()), bytes.size()));
  GElf_Ehdr header;
  std::size_t names = 0;
  if (elf == nullptr || gelf_getehdr(elf.get(), &header) == nullptr ||
      elf_getshdrstrndx(elf.get(), &names) != 0)
    return malformed();
  if (header.e_machine == kCudaMachine)
    return Error::unsupported(
        "a cubin: machine code for a GPU, without PTX; compile with nvcc -ptx or -fatbin instead");
  std::vector<Container> containers;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;)
    TRY(read_section(elf.get(), section, names, containers));
  return containers;
}

}  // namespace raddle::fatbin
