// What a CTA's bulk loads read next, if they go on as the last three did, is fetched into the worker's second
// cache while its warps compute. A processor fetches some lines at once and no more: whoever asks for a tile
// waits for nearly all of it. So each meeting of a warp with the machine fetches a few.
#pragma once

#include <cstdint>

#include "exec/abi.h"
#include "exec/bulk.h"

namespace raddle::machine {

class LookAhead {
 public:
  /// A CTA's request has been run.
  void note(const exec::CtaContext& cta, const exec::BulkRequest& request) {
    const auto kind = exec::BulkKind::from_word(request.kind);
    if (kind.direction == exec::BulkDirection::to_shared && kind.mode == exec::BulkMode::linear &&
        cta.launch->asid == 0)
      note_load(cta, request.global, request.bytes);
  }
  /// Fetches the next lines of what is expected.
  void go_on() {
    if (next_ < end_) fetch();
  }

  /// Address and bytes of what is expected and has not been fetched.
  std::uint64_t next() const { return next_; }
  std::uint64_t left() const { return end_ - next_; }

 private:
  void note_load(const exec::CtaContext& cta, std::uint64_t from, std::uint32_t bytes);
  void fetch();

  // The last load, and the distance between it and the one before.
  const exec::CtaContext* cta_ = nullptr;  // may be gone
  std::uint64_t from_ = 0, distance_ = 0;
  std::uint32_t bytes_ = 0;
  std::uint64_t next_ = 0, end_ = 0;
};

}  // namespace raddle::machine
