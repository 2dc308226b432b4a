// An ELF file in memory, by libelf: its sections by name, and what its dynamic section and symbols say.
#pragma once

#include <gelf.h>
#include <libelf.h>

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace raddle::fatbin {

class ElfFile {
 public:
  struct Section {
    std::string_view name, bytes;
    std::uint32_t info = 0;  ///< sh_info
  };

  /// A symbol of the dynamic table.
  struct Symbol {
    std::string_view name;
    std::string_view section;  ///< that it lies in; empty: another file's
  };
  struct Dynamic {
    std::vector<std::string_view> needed;  ///< DT_NEEDED
    std::string_view rpath;                ///< DT_RPATH, which goes before LD_LIBRARY_PATH
    std::vector<Symbol> symbols;
  };

  /// @errors invalid: not a well-formed ELF file
  static Result<ElfFile> open(std::string_view bytes);

  unsigned machine() const { return machine_; }  ///< e_machine
  const std::vector<Section>& sections() const { return sections_; }
  bool has_section(std::string_view name) const;
  Dynamic dynamic() const;

 private:
  struct End {
    void operator()(Elf* elf) const { elf_end(elf); }
  };
  std::unique_ptr<Elf, End> elf_;
  unsigned machine_ = 0;
  std::vector<Section> sections_;
};

inline constexpr unsigned kCudaMachine = 190;  ///< e_machine of a cubin

}  // namespace raddle::fatbin
