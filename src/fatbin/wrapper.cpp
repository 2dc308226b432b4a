#include "fatbin/wrapper.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "fatbin/container.h"

namespace raddle::fatbin {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1;

struct Wrapper {
  std::uint32_t magic, version;  ///< 1, or 2: with prelinked containers
  const void* container;
  const void* const* prelinked;  ///< containers, the last nullptr
};

std::uint32_t first_word(const void* address) {
  std::uint32_t word;
  std::memcpy(&word, address, sizeof word);
  return word;
}

std::string_view container_at(const void* address) {
  std::uint16_t header;
  std::uint64_t content;
  std::memcpy(&header, static_cast<const char*>(address) + 6, sizeof header);
  std::memcpy(&content, static_cast<const char*>(address) + 8, sizeof content);
  return {static_cast<const char*>(address), header + content};
}

/// Up to the end of the section headers and of every section, which is all there is.
std::string_view elf_at(const void* address) {
  Elf64_Ehdr header;
  std::memcpy(&header, address, sizeof header);
  std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shentsize} * header.e_shnum;
  const char* base = static_cast<const char*>(address);
  for (unsigned i = 0; i < header.e_shnum && header.e_shentsize == sizeof(Elf64_Shdr); ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, base + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return {base, end};
}

Result<std::vector<std::string_view>> wrapped(const Wrapper& wrapper) {
  if (wrapper.version == 2 && wrapper.prelinked != nullptr) {
    std::vector<std::string_view> images;
    for (const void* const* next = wrapper.prelinked; *next != nullptr; ++next)
      images.push_back(container_at(*next));
    if (!images.empty()) return images;
  }
  if (wrapper.version > 2 || wrapper.container == nullptr)
    return Error::invalid("fat binary: a wrapper of version {}", wrapper.version);
  return std::vector{container_at(wrapper.container)};
}

}  // namespace

Result<std::vector<std::string_view>> images_at(const void* address) {
  const auto* text = static_cast<const unsigned char*>(address);
  // The first byte decides whether more may be looked at: text may end at once.
  if (*text == 0x50) return std::vector{container_at(address)};
  if (*text == 0xb1 && first_word(address) == kWrapperMagic) {
    Wrapper wrapper;
    std::memcpy(&wrapper, address, sizeof wrapper);
    return wrapped(wrapper);
  }
  if (*text == 0x7f) return std::vector{elf_at(address)};
  if (std::isspace(*text) != 0 || *text == '.' || *text == '/')
    return std::vector{std::string_view(static_cast<const char*>(address))};
  return Error::invalid("neither PTX nor a fat binary");
}

}  // namespace raddle::fatbin
