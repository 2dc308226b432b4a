// See synchronisation.h. Where the manuals only allow a call to wait ("might be synchronous"), the entry says
// what is safe for programs: one that returns has read pageable sources and written pageable targets.
#include "driver/synchronisation.h"

#include "driver/process.h"

namespace raddle::driver {
namespace {

constexpr unsigned kContextSyncsMemops = 0x80;  ///< CU_CTX_SYNC_MEMOPS

constexpr Returns now = Returns::done, read = Returns::source_read, later = Returns::at_once;

/// By form (a call of its own), source and target, in the order of the enumerations. Managed memory is the
/// host's too: synchronous calls on it are done, as manuals up to CUDA 11 promise.
constexpr Returns kCopies[2][4][4] = {
    {{now, now, now, now},  // synchronous: from pageable
     {now, now, now, now},
     {now, now, now, now},
     {now, now, now, later}},
    {{now, now, read, read},  // asynchronous
     {now, now, later, later},
     {now, later, later, later},
     {now, later, later, later}},
};

}  // namespace

Place place_of(const AddressInfo& known) {
  switch (known.kind) {
    case MemoryKind::host:
    case MemoryKind::registered:
      return Place::pinned;
    case MemoryKind::managed:
      return Place::managed;
    case MemoryKind::device:
    case MemoryKind::pooled:
    case MemoryKind::mapped:
    case MemoryKind::imported:
      break;
  }
  return Place::device;
}

Returns copy_returns(CallForm form, Place from, Place to) {
  if (form == CallForm::in_order) return later;
  if (form == CallForm::during_call) return read;
  return kCopies[static_cast<int>(form)][static_cast<int>(from)][static_cast<int>(to)];
}

Returns fill_returns(CallForm form, Place target) {
  const bool is_the_hosts = target == Place::pinned || target == Place::managed;
  return form == CallForm::synchronous && is_the_hosts ? Returns::done : Returns::at_once;
}

bool syncs_memops(const Context& context, const AddressInfo& memory) {
  return (context.flags & kContextSyncsMemops) != 0 || Process::instance().sync_memops(memory.id);
}

}  // namespace raddle::driver
