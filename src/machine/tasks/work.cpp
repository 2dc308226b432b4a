// Looks up the memory that copies and fills name, and moves the bytes.
#include "machine/tasks/work.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "base/assert.h"
#include "machine/address_space.h"
#include "machine/memory/device_copy.h"

namespace raddle::machine {

CtaNeeds needs_of(const GridWork& grid, const SmLimits& sm) {
  CtaNeeds needs;
  needs.threads = grid.threads_per_block;
  needs.warps = (grid.threads_per_block + exec::kWarpSize - 1) / exec::kWarpSize;
  // A kernel never asks for more registers than an SM has: a compiler would spill.
  needs.registers = std::min<std::uint64_t>(
      std::uint64_t{std::min(grid.registers, 255u)} * grid.threads_per_block, sm.registers);
  // In whole units, as on an H200; of an SM whose memory is none, all of it.
  const std::uint64_t shared = grid.shared_model_bytes;
  needs.shared_bytes = std::max(
      shared, std::min<std::uint64_t>(round_up(shared, std::uint64_t{exec::kSharedUnit}), sm.shared_bytes));
  return needs;
}

namespace {

struct Extent {
  std::uint64_t width, height, depth;  ///< bytes, rows, slices; none is 0
};

/// Bytes from the first to the last. @errors invalid: more than an address space has
Result<std::uint64_t> span_of(const MemoryRows& rows, const Extent& extent) {
  std::uint64_t in_slice = 0, between = 0, span = 0, end = 0;
  if (__builtin_mul_overflow(extent.height - 1, rows.pitch, &in_slice) ||
      __builtin_mul_overflow(extent.depth - 1, rows.slice_pitch, &between) ||
      __builtin_add_overflow(in_slice, between, &span) || __builtin_add_overflow(span, extent.width, &span) ||
      __builtin_add_overflow(span, rows.address, &end))
    return Error::invalid("{} slices of {} rows of {} bytes are too large", extent.depth, extent.height,
                          extent.width);
  return span;
}

Result<void> check(const MemoryRows& rows, const Extent& extent) {
  TRY_ASSIGN(const std::uint64_t span, span_of(rows, extent));
  if (rows.space != nullptr) TRY(rows.space->memory().host({rows.address}, span));
  return {};
}

template <class Word>
bool is_met_of(const WordCondition& condition) {
  auto* const word = static_cast<Word*>(condition.word);
  const Word now = std::atomic_ref<Word>(*word).load(std::memory_order_acquire);
  const Word value = static_cast<Word>(condition.value);
  switch (condition.comparison) {
    case WordCondition::Comparison::reached:
      return static_cast<std::make_signed_t<Word>>(now - value) >= 0;
    case WordCondition::Comparison::equal:
      return now == value;
    case WordCondition::Comparison::any_common_bit:
      return (now & value) != 0;
    case WordCondition::Comparison::any_bit_in_neither:
      return static_cast<Word>(~(now | value)) != 0;
  }
  RADDLE_UNREACHABLE("a comparison");
}

}  // namespace

Result<void> check(const CopyWork& copy) {
  if (copy.is_empty()) return {};
  const Extent extent{copy.width, copy.height, copy.depth};
  TRY(check(copy.to, extent));
  return check(copy.from, extent);
}

Result<void> check(const FillWork& fill) {
  if (fill.is_empty()) return {};
  const auto& [to, word, word_bytes, width, height] = fill;
  if (!std::has_single_bit(word_bytes) || word_bytes > 8 || to.address % word_bytes != 0)
    return Error::invalid("words of {} bytes cannot be written to {:#x}", word_bytes, to.address);
  std::uint64_t row_bytes;
  if (__builtin_mul_overflow(width, std::uint64_t{word_bytes}, &row_bytes) ||
      (height > 1 && (to.pitch < row_bytes || to.pitch % word_bytes != 0)))
    return Error::invalid("{} words of {} bytes do not fit rows {} bytes apart", width, word_bytes, to.pitch);
  return check(to, {row_bytes, height, 1});
}

BoxSide box_of(const MemoryRows& rows) {
  std::byte* const start = rows.space != nullptr ? rows.space->memory().host({rows.address})
                                                 : reinterpret_cast<std::byte*>(rows.address);
  return {start, rows.pitch, rows.slice_pitch, rows.space != nullptr};
}

bool is_met(const WordCondition& condition) {
  return condition.bytes == 4 ? is_met_of<std::uint32_t>(condition) : is_met_of<std::uint64_t>(condition);
}

}  // namespace raddle::machine
