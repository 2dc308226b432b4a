// Fat binaries inside ELF files of the host: nvcc keeps them in two sections, one for plain compilation and
// one for code that was linked on the device side (-rdc=true), whose PTX is only in the second.
#include "fatbin/elf_file.h"
#include "fatbin/image.h"

namespace raddle::fatbin {

Result<std::vector<Container>> read_host_binary(std::string_view bytes) {
  constexpr std::string_view kSections[] = {".nv_fatbin", "__nv_relfatbin"};
  TRY_ASSIGN(const ElfFile file, ElfFile::open(bytes));
  std::vector<Container> containers;
  for (const ElfFile::Section& section : file.sections()) {
    if (section.name != kSections[0] && section.name != kSections[1]) continue;
    TRY_ASSIGN(
        std::vector<Container> found,
        read_containers({reinterpret_cast<const std::byte*>(section.bytes.data()), section.bytes.size()}));
    std::move(found.begin(), found.end(), std::back_inserter(containers));
  }
  return containers;
}

}  // namespace raddle::fatbin
