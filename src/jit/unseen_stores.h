// Stores that nobody can learn of before the warps of the block have come to a barrier or to their end. They
// may go past the host's caches (base/past_caches.h): there the worker orders them.
#pragma once

#include <vector>

#include "jit/order.h"

namespace raddle::jit {

class UnseenStores {
 public:
  UnseenStores(const ptx::Function& function, const ptx::Cfg& cfg);
  /// Whether the thread does nothing behind instruction n, before a barrier, by which others learn of what it
  /// has stored, and reads no device memory behind that barrier: there it may want what it has stored.
  bool is_unseen(std::uint32_t n) const { return unseen_[n]; }

 private:
  /// What may follow a place in the code.
  struct Ahead {
    bool orders = false;      ///< others learn of stores, before a barrier
    bool reads = false;       ///< device memory
    bool reads_late = false;  ///< the same behind a barrier
    Ahead operator|(Ahead o) const {
      return {orders || o.orders, reads || o.reads, reads_late || o.reads_late};
    }
    bool operator==(const Ahead&) const = default;
  };
  static Ahead before(const ptx::Instruction& i, Ahead behind);
  Ahead behind(const ptx::Cfg& cfg, ptx::BlockId block) const;

  std::vector<Ahead> at_begin_;  ///< by block
  std::vector<bool> unseen_;     ///< by instruction
};

/// Bytes that a thread of the kernel stores in device memory, as a guess: it makes each store once, and those
/// in loops eight times.
std::uint32_t stored_bytes(const ptx::Function& kernel, const Order& order);

}  // namespace raddle::jit
