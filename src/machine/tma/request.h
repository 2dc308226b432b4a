// A request as the unit keeps it, and the problems that one can have.
#pragma once

#include <cstdint>

#include "exec/abi.h"
#include "exec/bulk.h"
#include "exec/routing.h"

namespace raddle::machine {

inline constexpr std::uint32_t kTensorAlignment = 128;  ///< of a tensor's block in shared memory

/// The thread that executed the instruction.
struct TmaRequester {
  exec::CtaContext* cta = nullptr;
  std::uint32_t thread = 0;  ///< linear, in its block
  std::uint32_t line = 0;    ///< of the PTX text

  bool is_same_thread(const TmaRequester& other) const { return cta == other.cta && thread == other.thread; }
};

/// While a request lands, a signal is about the thread that asked for it.
class OnBehalfOf {
 public:
  explicit OnBehalfOf(const TmaRequester& requester)
      : cta_(*requester.cta), warp_(cta_.running_warp), lane_(cta_.running_lane), line_(cta_.running_line) {
    cta_.running_warp = requester.thread / exec::kWarpSize + 1;
    cta_.running_lane = requester.thread % exec::kWarpSize + 1;
    cta_.running_line = requester.line;
  }
  ~OnBehalfOf() {
    cta_.running_warp = warp_;
    cta_.running_lane = lane_;
    cta_.running_line = line_;
  }
  OnBehalfOf(const OnBehalfOf&) = delete;
  OnBehalfOf& operator=(const OnBehalfOf&) = delete;

 private:
  exec::CtaContext& cta_;
  const std::uint32_t warp_, lane_, line_;
};

/// What a request does wrong although nobody refuses it: it does what it should only if it lands early.
enum class TmaMistake : std::uint8_t {
  none,
  unpublished,  ///< reads shared memory that ordinary stores wrote after the last fence
  exited,       ///< reads shared memory of a CTA that has exited
  unexpected,   ///< its bytes land in another phase of their mbarrier than they were asked for in
  unawaited,    ///< its CTA exits before its bytes have landed there
};

/// Of a CTA: its requests to others' memory that are in flight. Its flush waits for them (W-20).
inline std::atomic<std::uint32_t>& traffic_of(const exec::CtaContext& cta) {
  return cta.cluster->traffic[cta.cluster_rank];
}

/// Why a request is discarded.
struct TmaProblem {
  exec::FaultKind fault = exec::FaultKind::none;
  std::uint64_t address = 0;  ///< generic
  const char* note = "";      ///< lives until the unit's next problem
  /// Found at the accessed CTA's side, long after the request: the error is on its way back. `access`: its
  /// number in the history of the source's SM.
  exec::ClusterProblem remote = exec::ClusterProblem::none;
  std::uint64_t access = 0;

  explicit operator bool() const { return fault != exec::FaultKind::none; }
};

}  // namespace raddle::machine
