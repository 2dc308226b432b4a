// Code in whatever wrapping it comes, made one module: what devices load, the driver's linker and nvJitLink
// answer with (K-18).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ptx/module.h"

namespace raddle::linking {

/// PTX text, a fat binary, a cubin that carries PTX, or a program, object file or archive that nvcc made.
struct Input {
  std::string_view bytes;
  std::string_view name = "<memory>";
  bool is_library = false;          ///< only modules that define a missing name are taken from it
  std::uint32_t max_registers = 0;  ///< of a thread, where the input does not say; 0: no limit
};

struct Linked {
  struct Text {
    std::string text, name;
    bool is_library;
    std::uint32_t max_registers = 0;  ///< fatbin::NamedText::max_registers
  };
  ptx::Module module;
  std::vector<Text> texts;  ///< of which it was linked: a server reads them again
};

/// @param capability  of the device: 90 for 9.0. It chooses among several architectures in one input.
/// @errors invalid, with file, line and column, or with the names that cannot be linked;
///         unsupported: device code, but no PTX
Result<Linked> link(std::span<const Input> inputs, std::uint32_t capability);

/// The names of its texts, without those of libraries that were not needed.
std::vector<std::string> parts(const ptx::Module& module);

/// External variables that no module defines; with any of these it cannot be loaded.
std::vector<std::string> undefined_variables(const ptx::Module& module);

/// These, and functions that kernels call and no module defines.
std::vector<std::string> undefined_names(const ptx::Module& module);

/// A cubin that carries the texts of its parts (fatbin/cubin.h), to be linked again where it is loaded.
std::string write_cubin(const Linked& linked, std::uint32_t capability);

}  // namespace raddle::linking
