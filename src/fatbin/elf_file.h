// An ELF file in memory, by libelf: its sections by name, and the members of archives of such files.
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
  };

  /// @errors invalid: not a well-formed ELF file
  static Result<ElfFile> open(std::string_view bytes);

  unsigned machine() const { return machine_; }  ///< e_machine
  const std::vector<Section>& sections() const { return sections_; }

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
