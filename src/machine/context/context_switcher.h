// The context switcher: the part of the host interface that selects device contexts. Where these are
// queued, one is selected at a time, until it has nothing to do or its time is over: the page tables of its
// spaces are bound to identifiers, `done` is raised, and only then do its tasks reach the work distributor
// . The identifiers are the same small numbers in each context; where several contexts run at once, the
// context is the other half of an identifier. Otherwise no task comes here.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "machine/context/device_context.h"
#include "raddle/contexts.h"

namespace raddle::machine {

class Machine;
struct MachineOptions;

class ContextSwitcher {
 public:
  static constexpr unsigned kMostContexts = 16;
  /// @param options  of the machine, which is not used before its constructor's end
  ContextSwitcher(Machine& machine, const MachineOptions& options);

  // Any thread, likewise below.
  bool queues() const { return mode_ == ContextMode::queued; }
  /// Sets of identifiers that are needed: each is a context's.
  unsigned identifier_sets() const;

  /// An address space comes into a context, which is made if there is none of that name ("": the first).
  /// @errors invalid: there are too many, or the machine has one only
  Result<DeviceContext*> enter(const std::string& name);
  /// All its tasks are complete.
  void leave(DeviceContext& context);
  /// The table of such a space gets an identifier; if the context is selected, it is bound.
  /// @errors out_of_memory: all are taken
  Result<void> add(DeviceContext& context, PagedSpace& table);
  void remove(DeviceContext& context, PagedSpace& table);

  /// Where contexts are queued: a grid is ready. @returns false: it was stopped before and does not run
  bool start(Task& task);
  /// A task's `stop` was set. @returns whether it waited here: then the caller has to complete it
  bool drop(Task& task);
  /// A task that was taken before has more to launch.
  void grew(const Task& task);
  /// Something has ended: others may be selected. Costs one load unless some wait.
  void look() {
    if (others_wait_.load(std::memory_order_acquire)) select_others();
  }
  /// Counts time. @returns whether contexts wait
  bool tick();

 private:
  DeviceContext* find(const std::string& name);
  Result<DeviceContext*> make(const std::string& name);
  void erase(DeviceContext& context);
  void enqueue(DeviceContext& context);
  bool may_leave() const;
  void select_others();
  void consider();
  void look_at_lingering();
  void select(DeviceContext& context);
  void take_tasks(DeviceContext& context);
  void stop_launching();
  void deselect();
  unsigned free_set() const;
  void bind(DeviceContext& context, unsigned set);
  void unbind(DeviceContext& context);
  Asid asid(unsigned set, unsigned number) const { return set * identifiers_ + number; }

  Machine& machine_;
  const std::optional<ContextMode> mode_;
  const unsigned identifiers_;  // of a set
  const unsigned quantum_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<DeviceContext>> contexts_;
  /// Of the copy engines where contexts are queued: they serve all spaces at any time, so tables are bound
  /// here, too.
  DeviceContext engines_;
  std::deque<DeviceContext*> queue_;       // that have something to do
  DeviceContext* selected_ = nullptr;      // it takes tasks, if it is `done`; else it is to leave
  std::vector<DeviceContext*> lingering_;  // not selected any more, and some blocks of it have not ended
  unsigned ticks_ = 0;                     // since the selection, while others waited
  std::atomic<bool> others_wait_{false};   // something is queued or lingers
};

/// An address space's place in a device context, for as long as it lives.
class ContextPlace {
 public:
  /// @errors as ContextSwitcher::enter
  static Result<ContextPlace> take(ContextSwitcher& switcher, const std::string& name);
  ContextPlace(ContextPlace&& other) noexcept;
  ~ContextPlace();
  ContextPlace& operator=(ContextPlace&&) = delete;

  DeviceContext& context() const { return *context_; }
  /// The space's table, which outlives this. @errors as ContextSwitcher::add
  Result<void> bring(PagedSpace& table);

 private:
  ContextPlace(ContextSwitcher& switcher, DeviceContext& context)
      : switcher_(&switcher), context_(&context) {}
  ContextSwitcher* switcher_;
  DeviceContext* context_;  // null: moved from
  PagedSpace* table_ = nullptr;
};

}  // namespace raddle::machine
