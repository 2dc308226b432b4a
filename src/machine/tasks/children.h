// What belongs to a grid that launches grids: streams, events, grids being prepared, errors of its threads.
// Made at its first call of the device runtime, gone when it is complete.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "machine/tasks/task.h"

namespace raddle::machine {

/// One thread of the parent, as a key.
struct ThreadOfGrid {
  std::uint64_t block;
  std::uint32_t thread;
  auto operator<=>(const ThreadOfGrid&) const = default;
};

/// This holds a reference to each task named here, and owns those in `prepared` and `tail`.
struct Children {
  std::mutex mutex;
  std::map<std::uint64_t, Task*> prepared;  ///< by the address of their parameter block: not launched yet
  std::map<std::uint64_t, Task*> streams;   ///< by number: the last task, null before the first
  std::map<std::uint64_t, Task*> events;    ///< by number: the task recorded, null: none
  std::vector<Task*> tail;                  ///< launched into the tail stream: run when all else is done
  std::vector<Task*> launched;              ///< to be stopped with the parent; complete ones may be missing
  std::map<std::uint64_t, std::atomic<std::uint64_t>> unfinished;  ///< by block: of what it launched
  std::map<ThreadOfGrid, int> last_errors;                         ///< CUDA's numbers; missing: success
  std::uint64_t next_number = 0;                                   ///< of streams and events

  /// Adds to `launched`, which drops complete ones now and then. The mutex is held.
  template <class Release>
  void remember(Task* child, const Release& release) {
    if (launched.size() >= prune_at) {
      std::erase_if(launched, [&](Task* task) {
        if (!task->done()) return false;
        release(task);
        return true;
      });
      prune_at = 2 * launched.size() + 64;
    }
    launched.push_back(child);
  }

 private:
  std::size_t prune_at = 64;
};

}  // namespace raddle::machine
