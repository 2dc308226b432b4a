// Tasks as data: what a task is to do, written into memory by a program or a kernel, and named by its address
// (docs/tasks.md). The layout is the same for host and device code, and part of the API.
#pragma once

#include <cstddef>
#include <cstdint>

namespace raddle {

enum class TaskKind : std::uint32_t {
  grid = 1,   ///< blocks of a grid, width x height x depth of them
  queue = 2,  ///< a block for each entry of a queue, which may grow while they run
};

/// At which end of the list of its priority a task waits.
enum class Insertion : std::uint32_t { tail = 0, head = 1 };

/// When no more entries come, so that a queue task ends with those that it has.
enum class QueueEnding : std::uint32_t {
  closed = 0,   ///< once somebody has closed the queue
  drained = 1,  ///< also once every entry has been worked off, and every child that the task has launched
};

/// What an append comes to.
enum class Append : std::uint32_t {
  done = 0,
  full = 1,    ///< the queue holds as many entries as it can; nothing was appended
  closed = 2,  ///< no more entries are taken
  refused = 3  ///< there is no such queue, or its entries have another size
};

/// The machine reads a record once, before the first block starts, and checks it. What is written there later
/// changes nothing of what runs.
struct alignas(16) TaskRecord {
  static constexpr std::uint32_t kVersion = 0x4b534101;     ///< of this layout
  static constexpr std::uint32_t kInlineParameters = 128;   ///< bytes
  static constexpr std::uint32_t kMostEntryBytes = 128;     ///< of one entry
  static constexpr std::uint32_t kMostCapacity = 1u << 24;  ///< entries of a queue
  static constexpr std::uint32_t kSlotHeader = sizeof(std::uint64_t);

  std::uint32_t version = kVersion;
  TaskKind kind = TaskKind::grid;
  std::uint64_t program = 0;           ///< Kernel::program(): a number, no address
  std::uint32_t grid[3] = {1, 1, 1};   ///< blocks in x, y, z; of a queue task 1, 1, 1
  std::uint32_t block[3] = {1, 1, 1};  ///< threads
  std::uint32_t shared_bytes = 0;      ///< dynamic shared memory of a block
  std::int32_t priority = 0;           ///< lower numbers run first
  Insertion insertion = Insertion::tail;
  std::uint32_t parameter_bytes = 0;
  std::uint64_t parameters = 0;  ///< address of the parameter block; 0: `inline_parameters`
  /// 0, or the number of the address space that launches it (Device::space()): a record that names another
  /// one is refused. Where a task runs is never taken from its record.
  std::uint64_t space = 0;

  // Of a queue task.
  std::uint64_t slots = 0;        ///< address of the circular queue's slots; 0: they follow the record
  std::uint32_t capacity = 0;     ///< slots
  std::uint32_t entry_bytes = 0;  ///< a multiple of 8, kMostEntryBytes at most
  std::uint32_t ready = 0;        ///< entries that lie in the first slots when the task is launched
  QueueEnding ending = QueueEnding::closed;
  /// How far the task is. The machine writes these and never reads them.
  std::uint64_t appended = 0;  ///< entries so far, those that were ready included
  std::uint64_t taken = 0;     ///< entries of which blocks have started, or children been launched

  std::uint64_t unused[2] = {0, 0};  ///< 0
  std::byte inline_parameters[kInlineParameters] = {};

  /// A slot is a header and the entry. The header is 0, or the address of the record of a child task that is
  /// launched instead of a block.
  std::uint64_t slot_bytes() const { return kSlotHeader + entry_bytes; }
  std::uint64_t queue_bytes() const { return capacity * slot_bytes(); }
  /// Makes it that of a queue task with an empty queue behind the record.
  void make_queue(std::uint32_t most_entries, std::uint32_t bytes_of_entry,
                  QueueEnding when = QueueEnding::closed) {
    kind = TaskKind::queue;
    capacity = most_entries, entry_bytes = bytes_of_entry, ending = when;
    ready = 0;
  }
};
static_assert(sizeof(TaskRecord) == 256);

}  // namespace raddle
