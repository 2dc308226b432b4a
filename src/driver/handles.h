// Handles that programs hold: numbers that name a slot and its generation, never addresses, so that a stale
// or invented one is detected instead of followed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/spinning_mutex.h"

namespace raddle::driver {

/// Objects of one type, which know their handle (`T::handle`). `kind` (1 to 31) keeps handles of different
/// types apart.
template <class T, class Handle, unsigned kind>
class HandleTable {
 public:
  Handle add(std::shared_ptr<T> object) {
    std::unique_lock lock(mutex_);
    if (free_.empty()) {
      free_.push_back(slots_.size());
      slots_.emplace_back();
    }
    const std::size_t index = free_.back();
    free_.pop_back();
    const Handle handle = encode(index, slots_[index].generation);
    object->handle = handle;
    slots_[index].object = std::move(object);
    return handle;
  }

  /// Whether a handle is of this table's kind, live or not.
  static bool is_kind(Handle handle) { return (number_of(handle) & 31) == kind; }

  /// nullptr for what is no live handle of this type.
  std::shared_ptr<T> find(Handle handle) const {
    std::unique_lock lock(mutex_);
    const Slot* slot = slot_of(handle);
    return slot == nullptr ? nullptr : slot->object;
  }

  /// Calls `visit` with each object, without the table's lock.
  template <class Visitor>
  void for_each(const Visitor& visit) const {
    for (const auto& object : all()) visit(*object);
  }

  /// Ends the handle; the object lives on while others hold it.
  std::shared_ptr<T> remove(Handle handle) {
    std::unique_lock lock(mutex_);
    const Slot* found = slot_of(handle);
    return found == nullptr ? nullptr : clear(static_cast<std::size_t>(found - slots_.data()));
  }

  /// All live objects.
  std::vector<std::shared_ptr<T>> all() const {
    std::vector<std::shared_ptr<T>> live;
    std::unique_lock lock(mutex_);
    for (const Slot& slot : slots_)
      if (slot.object != nullptr) live.push_back(slot.object);
    return live;
  }

  /// Ends the handles of all objects that match. They are destroyed after the table's lock is released.
  template <class Predicate>
  void remove_if(const Predicate& matches) {
    std::vector<std::shared_ptr<T>> ended;
    std::unique_lock lock(mutex_);
    for (std::size_t index = 0; index < slots_.size(); ++index)
      if (slots_[index].object != nullptr && matches(*slots_[index].object)) ended.push_back(clear(index));
    lock.unlock();
  }

 private:
  struct Slot {
    std::shared_ptr<T> object;
    std::uint32_t generation = 1;
  };

  // Generation above, then the slot, then the kind: no such number is an address of host memory that programs
  // have.
  static Handle encode(std::size_t index, std::uint32_t generation) {
    const std::uint64_t number =
        std::uint64_t{generation} << 32 | static_cast<std::uint64_t>(index) << 5 | kind;
    if constexpr (std::is_pointer_v<Handle>)
      return reinterpret_cast<Handle>(number);
    else
      return number;
  }
  static std::uint64_t number_of(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>)
      return reinterpret_cast<std::uint64_t>(handle);
    else
      return handle;
  }
  const Slot* slot_of(Handle handle) const {
    const std::uint64_t number = number_of(handle);
    const std::size_t index = (number & 0xffffffff) >> 5;
    if (!is_kind(handle) || index >= slots_.size()) return nullptr;
    const Slot& slot = slots_[index];
    return slot.object != nullptr && slot.generation == number >> 32 ? &slot : nullptr;
  }

  std::shared_ptr<T> clear(std::size_t index) {
    ++slots_[index].generation;
    free_.push_back(index);
    return std::exchange(slots_[index].object, nullptr);
  }

  // Held for a few instructions, but for what looks at all objects.
  mutable base::SpinningMutex mutex_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;
};

}  // namespace raddle::driver
