// The conditions of an address space by the numbers that kernels know: a kernel may name any number, and
// reaches a condition that is there, or none.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "machine/tasks/task_graph.h"

namespace raddle::machine {

class Conditions {
 public:
  std::uint64_t add(const std::shared_ptr<Condition>& condition) {
    const std::lock_guard lock(mutex_);
    std::erase_if(by_number_, [](const auto& entry) { return entry.second.expired(); });
    by_number_.emplace(++last_, condition);
    return last_;
  }
  /// Null: there is none of that number.
  std::shared_ptr<Condition> find(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : found->second.lock();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<Condition>> by_number_;
  std::uint64_t last_ = 0x1000;  // no number that is 0 or small by mistake
};

}  // namespace raddle::machine
