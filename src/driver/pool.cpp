// See pool.h.
#include "driver/pool.h"

#include <algorithm>

#include "base/round_up.h"
#include "driver/process.h"

namespace raddle::driver {
namespace {

constexpr std::uint64_t kBlockUnit = 512;
/// For blocks that other processes may map: pages of their own, which no other memory shares.
constexpr std::uint64_t kSharedUnit = DeviceMemory::kGuardedFrom;

/// A block serves requests down to half its size, so that reuse wastes no more than that.
bool fits(std::uint64_t block, std::uint64_t wanted) { return block >= wanted && block / 2 <= wanted; }

}  // namespace

Pool::~Pool() {
  for (const Free& each : free_) {
    const auto give_back = [from = source, address = each.block.address] { from->free(address); };
    if (each.is_done())
      give_back();
    else
      each.context->device.after_work(give_back);
  }
}

/// The smallest block that fits and may be used; taken from the list.
std::optional<Pool::Free> Pool::take_free(std::uint64_t bytes,
                                          bool (*usable)(const Pool&, const Free&, Stream&), Stream& stream) {
  auto best = free_.end();
  for (auto each = free_.begin(); each != free_.end(); ++each)
    if (fits(each->block.bytes, bytes) && (best == free_.end() || each->block.bytes < best->block.bytes) &&
        usable(*this, *each, stream))
      best = each;
  if (best == free_.end()) return std::nullopt;
  Free taken = std::move(*best);
  free_.erase(best);
  return taken;
}

Result<Pool::Block> Pool::take(Stream& stream, std::uint64_t bytes) {
  const std::uint64_t unit = is_shareable() ? kSharedUnit : kBlockUnit;
  if (bytes > ~std::uint64_t{0} - unit)
    return Error::make(ErrorCode::out_of_memory, "{} bytes wanted", bytes);
  const std::uint64_t wanted = round_up(bytes, unit);
  const std::lock_guard lock(mutex_);
  const auto is_ready = [](const Pool& pool, const Free& free, Stream& by) {
    return !free.done || free.stream == by.id || (pool.opportunistic_ != 0 && free.is_done()) ||
           (pool.follow_events_ != 0 && by.comes_after(free.stream, free.position));
  };
  auto found = take_free(wanted, is_ready, stream);
  if (!found) {
    const bool may_grow = props.maxSize == 0 || reserved_ + wanted <= props.maxSize;
    Result<DevicePtr> fresh = may_grow ? source->allocate(wanted)
                                       : Error::make(ErrorCode::out_of_memory, "the pool has {} of {} bytes",
                                                     reserved_, props.maxSize);
    if (fresh) {
      reserved_ += wanted;
      reserved_high_ = std::max(reserved_high_, reserved_);
      found = Free{{*fresh, wanted}};
    } else {
      found = take_free(
          wanted, [](const Pool& pool, const Free&, Stream&) { return pool.internal_dependencies_ != 0; },
          stream);
      if (!found) return fresh.error();
      stream.wait(*found->done, found->context);
    }
  }
  used_ += bytes;
  used_high_ = std::max(used_high_, used_);
  return found->block;
}

void Pool::give_back(const Block& block, std::uint64_t used, const std::shared_ptr<Context>& context,
                     Stream* stream) {
  const std::lock_guard lock(mutex_);
  used_ -= used;
  Free freed{block};
  freed.context = context;
  if (stream != nullptr) {
    freed.stream = stream->id;
    freed.position = stream->next_free();
    freed.done = stream->stream.record();
  } else {
    freed.done = context->device.record();
  }
  free_.push_back(std::move(freed));
}

void Pool::release(std::uint64_t bytes_to_keep) {
  const std::lock_guard lock(mutex_);
  std::erase_if(free_, [&](const Free& each) {
    if (reserved_ <= bytes_to_keep || !each.is_done()) return false;
    reserved_ -= each.block.bytes;
    source->free(each.block.address);
    return true;
  });
}

void Pool::release_beyond_threshold() {
  std::uint64_t threshold;
  {
    const std::lock_guard lock(mutex_);
    threshold = threshold_;
  }
  release(threshold);
}

void Pool::forget(const Context& context) {
  const std::lock_guard lock(mutex_);
  for (Free& each : free_)
    if (each.context.get() == &context) each.done.reset(), each.context = nullptr, each.stream = 0;
}

Status Pool::get(CUmemPool_attribute attribute, void* value) {
  const std::lock_guard lock(mutex_);
  const auto give = [&](auto number) {
    *static_cast<decltype(number)*>(value) = number;
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      return give(follow_events_);
    case POOL_REUSE_ALLOW_OPPORTUNISTIC:
      return give(opportunistic_);
    case POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return give(internal_dependencies_);
    case POOL_RELEASE_THRESHOLD:
      return give(threshold_);
    case POOL_RESERVED_CURRENT:
      return give(reserved_);
    case POOL_RESERVED_HIGH:
      return give(reserved_high_);
    case POOL_USED_CURRENT:
      return give(used_);
    case POOL_USED_HIGH:
      return give(used_high_);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

Status Pool::set(CUmemPool_attribute attribute, const void* value) {
  const std::lock_guard lock(mutex_);
  const auto flag = [&](int& of) {
    of = *static_cast<const int*>(value) != 0;
    return CUDA_SUCCESS;
  };
  const std::uint64_t number =
      attribute >= POOL_RELEASE_THRESHOLD ? *static_cast<const std::uint64_t*>(value) : 0;
  switch (attribute) {
    case POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      return flag(follow_events_);
    case POOL_REUSE_ALLOW_OPPORTUNISTIC:
      return flag(opportunistic_);
    case POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return flag(internal_dependencies_);
    case POOL_RELEASE_THRESHOLD:
      return threshold_ = number, CUDA_SUCCESS;
    case POOL_RESERVED_HIGH:  // can be reset to what there is now, and by 0 only
      return number == 0 ? (reserved_high_ = reserved_, CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE;
    case POOL_USED_HIGH:
      return number == 0 ? (used_high_ = used_, CUDA_SUCCESS) : CUDA_ERROR_INVALID_VALUE;
    case POOL_RESERVED_CURRENT:
    case POOL_USED_CURRENT:
      break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

void release_pools() {
  for (const auto& pool : Process::instance().pools.all()) pool->release_beyond_threshold();
}

}  // namespace raddle::driver
