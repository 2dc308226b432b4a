// A kernel's fault: a value, sticky on the context; nothing throws through kernel code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "exec/abi.h"

namespace raddle::exec {

struct Fault {
  FaultKind kind = FaultKind::none;
  std::string kernel;
  std::uint32_t ctaid[3] = {0, 0, 0};
  bool block_known = true;
  std::uint32_t tid[3] = {0, 0, 0};
  bool thread_known = false;
  std::uint64_t address = 0;
  bool address_known = true;
  std::uint32_t ptx_line = 0;  ///< 0: unknown
  std::string source;          ///< "file.cu:12", empty if unknown
  std::string detail;          ///< nearest allocation and distance, assert text

  std::string to_string() const;
  std::string place() const;  ///< of it, where it follows
};

/// Engines may let a misaligned access of 2 to 64 bytes trap by adding its address's low bits into the
/// topmost ones (ADR 0014). @returns the address as the kernel made it; nothing if the address was not made
/// in this way
std::optional<std::uint64_t> misaligned_from(std::uint64_t address);

std::string_view fault_name(FaultKind kind);  ///< "illegal address", ...

}  // namespace raddle::exec
