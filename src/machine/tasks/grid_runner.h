// Runs grids: the machine of this process, or one of another process that several share.
#pragma once

namespace raddle::machine {

class AddressSpace;
class Task;

class GridRunner {
 public:
  virtual ~GridRunner() = default;
  /// Runs a grid. @returns false: it was stopped before and does not run
  virtual bool start(Task& task) = 0;
  /// A task's `stop` was set: its running blocks are abandoned at their next poll, nothing more of it is
  /// started.
  /// @returns whether none of its blocks runs any more, so that the caller has to complete it
  virtual bool stop(Task& task) = 0;
  /// Returns when nobody here looks at the space's tasks any more; all are complete.
  virtual void forget(const AddressSpace& space) = 0;
};

}  // namespace raddle::machine
