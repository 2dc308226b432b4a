// The circular queue of a queue task. Its entries lie in memory that the program named; how many there
// are and which of them were taken is the machine's own, so nothing that a program writes there changes what
// runs. docs/adr/0068-tasks-as-data.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "raddle/task_record.h"

namespace raddle::machine {

class TaskQueue {
 public:
  struct Spec {
    std::uint64_t record = 0;        ///< by whose address programs name the queue
    TaskRecord* progress = nullptr;  ///< where the host writes how far it is
    std::byte* slots = nullptr;      ///< where the host finds them; as TaskRecord says
    std::uint32_t capacity = 0, entry_bytes = 0, ready = 0;
    QueueEnding ending = QueueEnding::closed;
    std::shared_ptr<const void> holds = nullptr;  ///< that memory, where it is not an address space's own
  };
  /// Reads the headers of the entries that are ready.
  explicit TaskQueue(Spec spec);

  std::uint64_t record() const { return spec_.record; }
  std::uint32_t entry_bytes() const { return spec_.entry_bytes; }

  /// @param entry  entry_bytes() of them, of the host; null for a child
  /// @param child  address of a child's record; 0: a block gets the entry
  Append append(const std::byte* entry, std::uint64_t child);
  /// The block at a position starts; each is taken once. Its slot is free then.
  /// @param entry  receives entry_bytes()
  /// @returns the record of the child to launch instead, 0: none
  std::uint64_t take(std::uint64_t position, std::byte* entry);
  void close();
  /// What its task has launched keeps it from being drained.
  void child_began();
  void child_ended();

  struct State {
    std::uint64_t appended = 0;
    bool is_closed = false;  ///< and no more will be
  };
  /// @param worked_off  how many entries are, all before them too, if no block of the task runs; else ~0. If
  /// that is
  ///                    all, and no child runs, a queue that ends when drained is closed.
  State look(std::uint64_t worked_off);

 private:
  /// In `headers_`: nothing waits in the slot. No address of a record.
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  std::byte* slot(std::uint64_t position) const;
  void tell(std::uint64_t& progress, std::uint64_t value) const;

  const Spec spec_;
  std::mutex mutex_;
  std::vector<std::uint64_t> headers_;  // by slot
  std::uint64_t appended_ = 0, taken_ = 0;
  std::uint64_t oldest_ = 0;  // position behind which nothing waits
  std::uint64_t children_ = 0;
  bool closed_ = false;
};

}  // namespace raddle::machine
