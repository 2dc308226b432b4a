#include "fatbin/cubin.h"

#include <elf.h>

#include <cstring>

#include "base/round_up.h"
#include "fatbin/elf_file.h"

namespace raddle::fatbin {
namespace {

constexpr std::string_view kSection = ".raddle.ptx";
constexpr unsigned kCudaAbi = 0x41, kCudaAbiVersion = 8;  ///< e_ident of cubins that nvcc 13 makes
constexpr std::uint32_t kCudaFlags = 0x06000004;          ///< e_flags of such files without the architecture
constexpr std::uint64_t kSectionAlignment = 16;

/// Section names behind each other, the first empty.
class NameTable {
 public:
  std::uint32_t add(std::string_view name) {
    const auto at = static_cast<std::uint32_t>(text_.size());
    text_.append(name).push_back('\0');
    return at;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_ = std::string(1, '\0');
};

/// The file in the making: header, contents, section headers.
class Writer {
 public:
  Writer() : file_(sizeof(Elf64_Ehdr), '\0'), sections_(1) {}

  /// @param info  of its header; what it means depends on the section
  void add(std::string_view name, std::uint32_t type, std::string_view bytes, std::uint32_t info = 0) {
    file_.resize(round_up(file_.size(), kSectionAlignment));
    Elf64_Shdr section{};
    section.sh_name = names_.add(name);
    section.sh_type = type;
    section.sh_offset = file_.size();
    section.sh_size = bytes.size();
    section.sh_info = info;
    section.sh_addralign = 1;
    sections_.push_back(section);
    file_.append(bytes);
  }

  std::string finish(std::uint32_t capability) {
    NameTable named = names_;
    named.add(".shstrtab");
    add(".shstrtab", SHT_STRTAB, named.text());
    file_.resize(round_up(file_.size(), kSectionAlignment));
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_ident[EI_OSABI] = kCudaAbi;
    header.e_ident[EI_ABIVERSION] = kCudaAbiVersion;
    header.e_type = ET_EXEC;
    header.e_machine = kCudaMachine;
    header.e_version = EV_CURRENT;
    header.e_flags = kCudaFlags | capability << 8;
    header.e_shoff = file_.size();
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections_.size());
    header.e_shstrndx = static_cast<Elf64_Half>(sections_.size() - 1);
    std::memcpy(file_.data(), &header, sizeof header);
    file_.append(reinterpret_cast<const char*>(sections_.data()), sections_.size() * sizeof sections_[0]);
    return std::move(file_);
  }

 private:
  std::string file_;
  NameTable names_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace

std::string write_cubin(std::span<const NamedText> texts, std::uint32_t capability) {
  Writer writer;
  for (const NamedText& text : texts)
    writer.add(kSection, SHT_PROGBITS, text.name + '\0' + text.text, text.max_registers);
  return writer.finish(capability);
}

bool is_cubin(std::string_view bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header || !bytes.starts_with(ELFMAG)) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.e_machine == kCudaMachine;
}

Result<std::vector<NamedText>> read_cubin(std::string_view bytes) {
  TRY_ASSIGN(const ElfFile file, ElfFile::open(bytes));
  std::vector<NamedText> texts;
  for (const ElfFile::Section& section : file.sections()) {
    const std::size_t end = section.bytes.find('\0');
    if (section.name != kSection || end == std::string_view::npos) continue;
    texts.push_back({std::string(section.bytes.substr(0, end)), std::string(section.bytes.substr(end + 1)),
                     section.info});
  }
  return texts;
}

}  // namespace raddle::fatbin
