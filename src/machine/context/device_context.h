// A device context: what the host interface selects as a whole. It holds address spaces; while it
// is selected, the tables of those that are modelled are bound to identifiers, and their tasks are taken.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/mmu/asid_table.h"

namespace raddle::machine {

class PagedSpace;
class Task;

/// All but its name and number is the context switcher's, under its lock, unless it says otherwise.
class DeviceContext {
 public:
  /// @param tables  identifiers that it has for its spaces
  DeviceContext(std::string name, unsigned number, unsigned tables)
      : name_(std::move(name)), number_(number), tables_(tables) {}

  const std::string& name() const { return name_; }
  unsigned number() const { return number_; }  ///< among those of its machine
  /// `done`: the tables of its spaces are bound, and its tasks are taken. Any thread.
  bool is_done() const { return done_.load(std::memory_order_acquire); }
  /// How often it has been selected. Any thread.
  std::uint64_t selections() const { return selections_.load(std::memory_order_relaxed); }

 private:
  friend class ContextSwitcher;

  /// Tasks that are ready and wait for `done`, linked by their graph's `next`.
  struct Waiting {
    Task* first = nullptr;
    Task** end = &first;
    bool empty() const { return first == nullptr; }
    void append(Task& task);
    Task* take();
    /// @returns whether it was there
    bool remove(const Task& task);
  };

  const std::string name_;
  const unsigned number_;
  std::vector<PagedSpace*> tables_;  // by number in the context - 1; null: free
  unsigned spaces_ = 0;
  Waiting waiting_;
  std::optional<unsigned> set_;  // of identifiers, which its tables are bound to; none: they are not bound
  bool is_queued_ = false;
  std::atomic<bool> done_{false};
  std::atomic<std::uint64_t> selections_{0};
};

}  // namespace raddle::machine
