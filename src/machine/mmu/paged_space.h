// The memory of one modelled space: its page table, which is bound to an ASID, and the frames in it. What the
// space allocates lies at the same addresses for its kernels, through the page table, and for the host, which
// has the same frames mapped there: pointers mean the same on both sides.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "machine/memory/device_space.h"
#include "machine/memory/peer_memory.h"
#include "machine/mmu/mmu.h"

namespace raddle::machine {

class PagedSpace final : public PageSource {
 public:
  /// Not bound yet. @param mmu  outlives it, as the peers do @errors out_of_memory: frames for page tables
  static Result<std::unique_ptr<PagedSpace>> open(Mmu& mmu, const PeerMemory& peers);
  /// No kernel of it runs any more.
  ~PagedSpace() override;

  /// Its number in its device context, from then on.
  void join(Asid number) { number_ = number; }
  Asid number() const { return number_; }
  /// From now on accesses by SMs find its table by an identifier; none of its kernels runs. Thread-safe, as
  /// all here.
  void bind(Asid asid);
  /// By none any more.
  void unbind();
  /// The copy engines have an identifier of their own for it, so that they serve it while it is not bound.
  void bind_for_engines(Asid asid);
  /// kNoAsid: it is not bound.
  Asid asid() const { return asid_.load(std::memory_order_relaxed); }
  Mmu& mmu() { return mmu_; }
  TranslationCounts counts() const;

  /// Enters frames that stay somebody else's, at an address of kernels only.
  /// @errors invalid: there is something already; out_of_memory: for page tables
  Result<void> enter(std::uint64_t address, FrameRun frames, Permissions permissions);
  /// Takes them out again.
  void leave(std::uint64_t address, std::uint64_t bytes);

  /// As Mmu::translate, of an access of this space by an SM. Memory that all spaces know (shared_memory.h),
  /// and that of peers, gets its pages when it is touched. Managed memory gets them by faults that are
  /// replayed (`to_come`): these are to be reported, and the access made again.
  Translated translate(std::uint32_t sm, std::uint64_t address, exec::AccessKind kind);
  /// Such a fault goes into the MMU's buffer. @returns its number there
  std::uint64_t report(std::uint64_t address);
  /// Gives an address that faulted its page, if it may have one; on the thread of the buffer.
  void service(std::uint64_t address);
  /// The access is made again. @returns as translate()
  Translated replay(std::uint32_t sm, std::uint64_t address, exec::AccessKind kind);
  /// The same by a copy engine, to which missing pages are told: it goes on when they have come.
  Translated access(unsigned engine, std::uint64_t address, exec::AccessKind kind);
  /// Whether an access leads elsewhere now: its page was not there yet, or there is another one. Then it is
  /// to be made again.
  bool resolve(const Translated& place, std::uint64_t address);

 private:
  PagedSpace(Mmu& mmu, const PeerMemory& peers, std::unique_ptr<PageTable> table);
  void invalidate();
  bool provide(std::byte* start, std::uint64_t bytes, std::byte* host_alias) override;
  void withdraw(std::byte* start, std::uint64_t bytes) override;
  Result<FrameRun> take_frames(std::uint64_t bytes, std::uint64_t alignment);
  Result<void> enter_run(std::uint64_t address, FrameRun frames, Permissions permissions);
  std::vector<FrameRun> remove_all(std::uint64_t address, std::uint64_t bytes);
  bool enter_shared(std::uint64_t address);
  bool is_managed(std::uint64_t address) const;
  bool drop_stale_shared();

  /// A piece of managed memory that an SM touched last.
  struct alignas(64) Touched {
    exec::AddressRange range{0, 0};
    Residency* pages = nullptr;  // lives as long as the work that may touch it; null: nobody counts
    std::uint64_t changes = 0;
  };
  void count_touch(std::uint32_t sm, std::uint64_t address);

  Mmu& mmu_;
  const PeerMemory& peers_;
  Asid number_ = kNoAsid;
  Asid engines_asid_ = kNoAsid;  // none: that of the SMs
  std::atomic<Asid> asid_{kNoAsid};
  TranslationCounts counted_{};                    // by ASIDs that it had
  TranslationCounts before_{}, engines_before_{};  // by others that had its ASIDs
  mutable std::mutex mutex_;
  const std::unique_ptr<PageTable> table_;
  /// Frames that kernels of the space might still reach by a translation which was made before: only the
  /// space itself uses them again.
  FrameRuns own_;
  std::vector<std::uint64_t> shared_;         // addresses of pages of the host's
  std::atomic<std::uint64_t> changes_{0};     // of what is shared, when the first of these was entered
  std::atomic<bool> has_managed_{false};      // some of these count touches
  const std::unique_ptr<Touched[]> touched_;  // by SM
  std::atomic<std::uint64_t> faults_{0}, replays_{0};  // of managed memory
};

}  // namespace raddle::machine
