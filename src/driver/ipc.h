// Memory and events that several processes share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "driver/abi.h"
#include "raddle/word_condition.h"
#include "runtime/memory.h"

namespace raddle::driver {

/// Ends one opening of memory of another process, from a pool or not, once nothing uses it any more. False if
/// it is not the start of such memory.
bool free_imported(CUdeviceptr address, bool of_pool);

/// A page that all processes of an event map. Records are numbered; the event has happened when the last one
/// has.
class SharedEvent {
 public:
  /// Null if the host has no memory for it.
  static std::shared_ptr<SharedEvent> create();
  static std::shared_ptr<SharedEvent> map(MemoryFile file);
  SharedEvent(MemoryFile file, Mapping page) : file_(std::move(file)), mapping_(std::move(page)) {}
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;

  int descriptor() const { return file_.descriptor(); }
  std::uint64_t recorded() const { return page().recorded; }
  std::uint64_t begin_record() { return ++page().recorded; }
  void complete(std::uint64_t record);
  bool has_happened(std::uint64_t record) const { return page().completed >= record; }

 private:
  struct Page {
    std::atomic<std::uint64_t> recorded, completed;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  Page& page() const { return *reinterpret_cast<Page*>(mapping_.start()); }

  friend WordCondition happened(const std::shared_ptr<SharedEvent>& event);

  const MemoryFile file_;
  const Mapping mapping_;
};

/// The condition that the last record until now has happened.
WordCondition happened(const std::shared_ptr<SharedEvent>& event);

}  // namespace raddle::driver
