// The mbarrier object (PTX ISA, "mbarrier"): one 64-bit word in shared memory and nothing beside it, so that
// programs may copy it and tools may read it. Pure bookkeeping on that word, no waiting: the machine's
// services put warps to sleep, both engines and the machine's asynchronous units change words here only.
//
// Bits, from the lowest (ours, docs/mbarriers.md):
//    0..20  transaction count, two's complement: bytes expected and not yet complete
//   21..40  pending count: arrivals that this phase still lacks
//   41..60  expected count: arrivals of the next phase
//       61  set in every initialised object
//       62  zero
//       63  parity of the phase: 0 in the first one
// An arrive returns the word before it as the state.
#pragma once

#include <atomic>
#include <cstdint>

namespace raddle::exec {

inline constexpr std::uint32_t kMbarrierBytes = 8;
/// Largest count of arrivals, and largest amount of the transaction count (PTX ISA, "Size and alignment of
/// mbarrier object" and "Tracking asynchronous operations").
inline constexpr std::uint32_t kMbarrierMost = (1u << 20) - 1;
inline constexpr std::uint64_t kMbarrierPhaseBit = std::uint64_t{1} << 63;

/// Why an operation on an mbarrier is an illegal_barrier fault.
enum class MbarrierProblem : std::uint8_t {
  none,
  not_initialised,        ///< the word is no mbarrier
  count_out_of_range,     ///< of mbarrier.init or of an arrive
  too_many_arrivals,      ///< more than the phase lacks
  transactions_overflow,  ///< the transaction count leaves its range
  would_complete,         ///< arrive.noComplete ends the phase
};
const char* describe(MbarrierProblem problem);

struct Mbarrier {
  bool odd = false;  ///< parity of the phase
  std::uint32_t expected = 0, pending = 0;
  std::int32_t transactions = 0;  ///< bytes

  static constexpr Mbarrier unpack(std::uint64_t word) {
    return {.odd = (word & kMbarrierPhaseBit) != 0,
            .expected = static_cast<std::uint32_t>(word >> 41) & kMbarrierMost,
            .pending = static_cast<std::uint32_t>(word >> 21) & kMbarrierMost,
            .transactions = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) << 11) >> 11};
  }
  constexpr std::uint64_t pack() const {
    return (odd ? kMbarrierPhaseBit : 0) | kInitialised | std::uint64_t{expected} << 41 |
           std::uint64_t{pending} << 21 | (static_cast<std::uint32_t>(transactions) & 0x1f'ffffu);
  }
  static constexpr bool is_initialised(std::uint64_t word) { return (word & kInitialised) != 0; }

  /// The word after expect(-bytes), without taking it apart. @param bytes  not 0
  /// @returns 0 where that names a problem, or the word is no object
  static constexpr std::uint64_t completed(std::uint64_t word, std::uint32_t bytes) {
    const std::int64_t sum = std::int64_t{unpack(word).transactions} - bytes;
    if (sum < -std::int64_t{kMbarrierMost} || !is_initialised(word)) return 0;
    const std::uint64_t after = (word & ~kTransactions) | (static_cast<std::uint64_t>(sum) & kTransactions);
    if ((after & (kTransactions | kPending)) != 0) return after;
    return (after ^ kMbarrierPhaseBit) | (after >> 20 & kPending);  // the phase ends: as next_phase()
  }

  // Changes of the object in a phase. Each leaves it unchanged where it names a problem.
  constexpr MbarrierProblem arrive(std::uint32_t count) {
    if (count == 0 || count > kMbarrierMost) return MbarrierProblem::count_out_of_range;
    if (count > pending) return MbarrierProblem::too_many_arrivals;
    pending -= count;
    return MbarrierProblem::none;
  }
  /// The phase lacks one arrival more.
  constexpr MbarrierProblem expect_arrival() {
    if (pending == kMbarrierMost) return MbarrierProblem::count_out_of_range;
    ++pending;
    return MbarrierProblem::none;
  }
  /// @param bytes  expected, or below zero: complete
  constexpr MbarrierProblem expect(std::int64_t bytes) {
    const std::int64_t sum = transactions + bytes;
    if (sum > std::int64_t{kMbarrierMost} || sum < -std::int64_t{kMbarrierMost})
      return MbarrierProblem::transactions_overflow;
    transactions = static_cast<std::int32_t>(sum);
    return MbarrierProblem::none;
  }
  /// Nothing is missing. A phase ends when this becomes true; one that expects nobody does not end by itself.
  constexpr bool is_complete() const { return pending == 0 && transactions == 0; }
  constexpr void next_phase() {
    odd = !odd;
    pending = expected;
  }

 private:
  static constexpr std::uint64_t kInitialised = std::uint64_t{1} << 61;
  static constexpr std::uint64_t kTransactions = 0x1f'ffff, kPending = std::uint64_t{kMbarrierMost} << 21;
};

/// What an operation on a word has found.
struct MbarrierResult {
  MbarrierProblem problem = MbarrierProblem::none;
  std::uint64_t before = 0;  ///< the state that an arrive returns
  bool completed = false;    ///< the operation has ended a phase
};

/// Applies `change` (Mbarrier& -> MbarrierProblem) and ends the phase if nothing is missing any more.
/// Releases what the caller did before, acquires what earlier callers did. Any thread.
template <class Change>
MbarrierResult change_mbarrier(std::atomic<std::uint64_t>& word, Change change) {
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  for (;;) {
    if (!Mbarrier::is_initialised(seen)) return {MbarrierProblem::not_initialised, seen, false};
    Mbarrier object = Mbarrier::unpack(seen);
    const bool nothing_was_missing = object.is_complete();
    if (const MbarrierProblem problem = change(object); problem != MbarrierProblem::none)
      return {problem, seen, false};
    const bool completes = object.is_complete() && !nothing_was_missing;
    if (completes) object.next_phase();
    if (word.compare_exchange_weak(seen, object.pack(), std::memory_order_acq_rel, std::memory_order_relaxed))
      return {MbarrierProblem::none, seen, completes};
  }
}

/// mbarrier.init.
inline MbarrierProblem init_mbarrier(std::atomic<std::uint64_t>& word, std::uint32_t count) {
  if (count == 0 || count > kMbarrierMost) return MbarrierProblem::count_out_of_range;
  word.store(Mbarrier{.expected = count, .pending = count}.pack(), std::memory_order_release);
  return MbarrierProblem::none;
}

/// mbarrier.inval: the memory may be used for anything.
inline MbarrierProblem invalidate_mbarrier(std::atomic<std::uint64_t>& word) {
  if (!Mbarrier::is_initialised(word.load(std::memory_order_relaxed)))
    return MbarrierProblem::not_initialised;
  word.store(0, std::memory_order_release);
  return MbarrierProblem::none;
}

/// The variants of mbarrier.arrive and mbarrier.arrive_drop.
struct MbarrierArrival {
  std::uint32_t count = 1;
  std::uint32_t transactions = 0;  ///< bytes, expected before the arrive
  bool drops = false;              ///< later phases expect as many arrivals less
  bool may_complete = true;        ///< false: .noComplete
};

inline MbarrierResult arrive_at_mbarrier(std::atomic<std::uint64_t>& word, const MbarrierArrival& arrival) {
  return change_mbarrier(word, [&](Mbarrier& object) {
    if (const auto problem = object.expect(arrival.transactions); problem != MbarrierProblem::none)
      return problem;
    if (const auto problem = object.arrive(arrival.count); problem != MbarrierProblem::none) return problem;
    if (arrival.drops && arrival.count > object.expected) return MbarrierProblem::too_many_arrivals;
    if (arrival.drops) object.expected -= arrival.count;
    return !arrival.may_complete && object.is_complete() ? MbarrierProblem::would_complete
                                                         : MbarrierProblem::none;
  });
}

/// mbarrier.expect_tx.
inline MbarrierResult expect_transactions(std::atomic<std::uint64_t>& word, std::uint32_t bytes) {
  return change_mbarrier(word, [&](Mbarrier& object) { return object.expect(bytes); });
}

/// mbarrier.complete_tx, and what an asynchronous operation does where its data has landed.
inline MbarrierResult complete_transactions(std::atomic<std::uint64_t>& word, std::uint32_t bytes) {
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  const std::uint64_t wanted = bytes == 0 ? 0 : Mbarrier::completed(seen, bytes);
  if (wanted != 0 && word.compare_exchange_strong(seen, wanted, std::memory_order_acq_rel,
                                                  std::memory_order_relaxed)) [[likely]]
    return {MbarrierProblem::none, seen, ((seen ^ wanted) & kMbarrierPhaseBit) != 0};
  return change_mbarrier(word, [&](Mbarrier& object) { return object.expect(-std::int64_t{bytes}); });
}

/// What the instructions that change an mbarrier do.
enum class MbarrierOperation : std::uint32_t {
  init,
  invalidate,
  expect,
  complete,
  expect_arrival,   ///< that copies will bring (cp.async.mbarrier.arrive without .noinc)
  arrive_expected,  ///< the same with its arrival, all at once
  arrive,
  arrive_no_complete,
  drop,
  drop_no_complete,
};

/// The operation of mbarrier.arrive and mbarrier.arrive_drop.
constexpr MbarrierOperation arrival_of(bool drops, bool may_complete) {
  if (drops) return may_complete ? MbarrierOperation::drop : MbarrierOperation::drop_no_complete;
  return may_complete ? MbarrierOperation::arrive : MbarrierOperation::arrive_no_complete;
}

/// Any of them. @param count  of arrivals @param bytes  of transactions
MbarrierResult change_mbarrier(std::atomic<std::uint64_t>& word, MbarrierOperation operation,
                               std::uint32_t count, std::uint32_t bytes);

/// mbarrier.pending_count, of a state.
constexpr std::uint32_t pending_count(std::uint64_t state) { return Mbarrier::unpack(state).pending; }

/// mbarrier.test_wait: whether the phase of that parity is over.
constexpr bool is_over(std::uint64_t word, bool odd_phase) {
  return ((word & kMbarrierPhaseBit) != 0) != odd_phase;
}

/// The object at an address of shared memory.
inline std::atomic<std::uint64_t>& mbarrier_at(std::byte* address) {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(address);
}

}  // namespace raddle::exec
