// Compiled code of a kernel and how a worker enters it, by block kind.
#pragma once

#include <functional>

#include "exec/executable.h"

namespace raddle::jit {

class JitExecutable final : public exec::Executable {
 public:
  ~JitExecutable() override;

  /// loops: void(CtaContext*); regions: uint32(WarpContext*, frame, state); fibers: void(WarpContext*).
  void set_entry(void* address) { entry_ = address; }
  void on_release(std::function<void()> release) { release_ = std::move(release); }
  std::uint32_t frame_bytes = 0;  ///< regions: saved state of one warp

  void run_block(exec::CtaContext& cta) override;
  void run_warp(exec::WarpContext& warp) override;

 private:
  void run_regions(exec::CtaContext& cta);

  void* entry_ = nullptr;
  std::function<void()> release_;
};

}  // namespace raddle::jit
