// What the asynchronous proxy sees of CTAs' shared memory, where that is not the memory itself: ordinary
// stores reach it at proxy fences only (PTX: fence.proxy.async), so that a copy behind a fence that was
// forgotten reads what was there before, and that is noted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/tma/request.h"

namespace raddle::machine {

class ProxyViews {
 public:
  /// A CTA with this shared memory begins: nothing is in it yet.
  void begin(const std::byte* memory, std::size_t bytes);
  /// It exits. What still reads of it may read anything.
  void spoil(const std::byte* memory);
  bool is_spoiled(const std::byte* memory) const;
  void end(const std::byte* memory);
  /// Ordinary stores up to now are seen, in all CTAs that have begun.
  void publish();
  /// The view of a CTA's memory; the memory itself if nobody began one.
  std::byte* of(std::byte* memory) const;

  /// Why a copy reads something else than its CTA's threads have left there.
  TmaMistake staleness(const std::byte* memory, std::size_t offset, std::size_t bytes) const;

 private:
  struct View {
    const std::byte* memory = nullptr;
    std::vector<std::byte> bytes;
    std::vector<std::byte> before;  ///< the memory as the CTA began
    bool is_spoiled = false;
  };
  View* find(const std::byte* memory) const;

  std::vector<std::unique_ptr<View>> views_;  // those of no memory are kept for the next CTA
};

}  // namespace raddle::machine
