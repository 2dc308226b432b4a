// Keeps another process's page tables in step with this one's (A-12a): the process that runs the kernels has
// the same memory at the same addresses as the one whose program they belong to.
#pragma once

#include <cstdint>

#include "machine/memory/protection.h"

namespace raddle::machine {

class Mirror {
 public:
  virtual ~Mirror() = default;
  /// A part of a sealed file in memory is at these addresses, whole pages, for kernels.
  /// @param descriptor  stays the caller's
  /// @returns whether the other process has it there, too; likewise below
  virtual bool map(std::uint64_t address, std::uint64_t bytes, int descriptor, std::uint64_t offset,
                   Protection protection) = 0;
  virtual bool protect(std::uint64_t address, std::uint64_t bytes, Protection protection) = 0;
  /// Nothing is at these addresses any more, whatever was there.
  virtual void unmap(std::uint64_t address, std::uint64_t bytes) = 0;
};

}  // namespace raddle::machine
