// A request as the unit keeps it, and what can be wrong with one.
#pragma once

#include <cstdint>

#include "exec/abi.h"
#include "exec/bulk.h"

namespace raddle::machine {

/// The thread that executed the instruction.
struct TmaRequester {
  exec::CtaContext* cta = nullptr;
  std::uint32_t thread = 0;  ///< linear, in its block
  std::uint32_t line = 0;    ///< of the PTX text

  bool is_same_thread(const TmaRequester& other) const { return cta == other.cta && thread == other.thread; }
};

/// Why a request is discarded.
struct TmaProblem {
  exec::FaultKind fault = exec::FaultKind::none;
  std::uint64_t address = 0;  ///< generic
  const char* note = "";      ///< lives until the unit's next problem

  explicit operator bool() const { return fault != exec::FaultKind::none; }
};

}  // namespace raddle::machine
