// Reference semantics of asynchronous copies that each thread makes for itself (PTX ISA "cp.async"): complete
// when the instruction is (ADR 0047), or the machine's to land where they land late.
#include <algorithm>
#include <cstring>

#include "exec/mbarrier.h"
#include "interp/lane.h"
#include "interp/mbarriers.h"
#include "interp/reference.h"
#include "interp/sends.h"
#include "interp/warp.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using ptx::Instruction;

namespace {

/// Bytes of the source that count, of so many; the rest is zero. The third source is their number, or a
/// predicate: none. Of a number that is too large the result is undefined in PTX; here it is all bytes.
std::uint32_t bytes_read(const Lane& lane, std::uint32_t bytes) {
  if (!lane.has(3)) return bytes;
  if (lane.operand(3).type == isa::Type::pred) return lane.in<bool>(3) ? 0 : bytes;
  return std::min(lane.in<std::uint32_t>(3), bytes);
}

void copy(const Lane& lane) {
  constexpr std::uint32_t kWord = 4, kMostWords = 4;
  const auto bytes = lane.in<std::uint32_t>(2), read = bytes_read(lane, bytes), words = bytes / kWord;
  std::uint32_t data[kMostWords] = {};
  const std::uint32_t* from = nullptr;
  if (read != 0)  // else nobody looks at the address
    from = reinterpret_cast<const std::uint32_t*>(lane.access(1, bytes, Mod::global, exec::AccessKind::load));
  auto* to = reinterpret_cast<std::uint32_t*>(lane.access(0, bytes, Mod::shared, exec::AccessKind::store));
  if (lane.services().thread_copy(&lane.context(), lane.index(), reinterpret_cast<std::uint64_t>(to),
                                  reinterpret_cast<std::uint64_t>(from), bytes, read) != 0)
    return;
  if (read != 0) {
    lane.touch([&] {
      for (std::uint32_t w = 0; w * kWord < read; ++w) data[w] = __atomic_load_n(from + w, __ATOMIC_RELAXED);
    });
    for (std::uint32_t b = read; b % kWord != 0; ++b) data[b / kWord] &= ~(0xffu << b % kWord * 8);
  }
  lane.touch([&] {
    for (std::uint32_t w = 0; w < words; ++w) __atomic_store_n(to + w, data[w], __ATOMIC_RELAXED);
  });
}

}  // namespace

SendPlaces send_places(Lane& lane, std::size_t bytes) {
  std::byte* const to = lane.access(0, static_cast<unsigned>(bytes));
  return {to, lane.access(2, exec::kMbarrierBytes)};
}

bool send_late(Lane& lane, const SendPlaces& places, const void* value, std::size_t bytes,
               exec::BulkKind kind) {
  std::uint64_t words[2] = {};
  std::memcpy(words, value, bytes);
  return lane.services().thread_send(&lane.context(), lane.index(),
                                     reinterpret_cast<std::uint64_t>(places.to),
                                     reinterpret_cast<std::uint64_t>(places.mbarrier), words[0], words[1],
                                     static_cast<std::uint32_t>(bytes), kind.word()) != 0;
}

template <>
void reference_warp<Op::cp_async>(WarpStep& step, const Instruction&) {
  step.each([](const Lane& lane) { copy(lane); });
}
template <>
void reference_warp<Op::cp_async_commit_group>(WarpStep& step, const Instruction&) {
  step.context().cta->services->thread_copy_commit(&step.context(), step.lanes());
}
/// wait_all is for what is in no group yet, too.
template <>
void reference_warp<Op::cp_async_wait_group>(WarpStep& step, const Instruction& i) {
  const exec::Services& services = *step.context().cta->services;
  const bool all = i.opcode->has(Mod::wait_all);
  if (all) services.thread_copy_commit(&step.context(), step.lanes());
  std::uint32_t groups = 0;
  step.each([&](const Lane& lane) { groups = all ? 0 : lane.in<std::uint32_t>(0); });  // a constant
  services.thread_copy_wait(&step.context(), step.lanes(), groups);
}

template <>
void reference_warp<Op::cp_async_mbarrier_arrive>(WarpStep& step, const Instruction& i) {
  step.each([&](Lane& lane) { arrive_for_copies(lane, 0, i.opcode->has(Mod::noinc)); });
}

}  // namespace raddle::interp
