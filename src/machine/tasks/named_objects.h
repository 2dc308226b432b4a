// What kernels name by a number: conditions, and graphs that they launch. A kernel may name any number, and
// reaches an object that is there, or none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace raddle::machine {

template <class Object>
class NamedObjects {
 public:
  /// @returns its number, never another one's
  std::uint64_t add(const std::shared_ptr<Object>& object) {
    const std::lock_guard lock(mutex_);
    std::erase_if(by_number_, [](const auto& entry) { return entry.second.expired(); });
    by_number_.emplace(++last_, object);
    return last_;
  }
  /// An object whose number is its owner's, in place of the one that had it.
  void put(std::uint64_t number, const std::shared_ptr<Object>& object) {
    const std::lock_guard lock(mutex_);
    std::erase_if(by_number_, [](const auto& entry) { return entry.second.expired(); });
    by_number_[number] = object;
  }
  /// Null: there is none of that number.
  std::shared_ptr<Object> find(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : found->second.lock();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<Object>> by_number_;
  std::uint64_t last_ = 0x1000;  // no number that is 0 or small by mistake
};

}  // namespace raddle::machine
