// Stream-ordered allocation: pools of memory, from which streams take memory and to which they give it back.
// The stream that freed a block may take it again at once, since its later work comes after the free; other
// streams get it when the free has happened, or wait for that if there is no other memory.
#pragma once

#include <optional>

#include "driver/gpu.h"
#include "driver/memory_table.h"
#include "driver/pool_source.h"
#include "driver/status.h"

namespace raddle::driver {

/// Sets of devices whose kernels may access a pool's memory from the beginning: managed memory is for all,
/// that of the host for the host only (as the manual says of cuMemPoolCreate).
inline constexpr std::uint64_t kAllDevices = ~std::uint64_t{0}, kNoDevice = 0;

struct Pool {
  enum Kind { own, of_place, imported };
  Pool(Gpu& of, const CUmemPoolProps& wanted, Kind what, std::shared_ptr<PoolSource> from,
       std::uint64_t may_access)
      : gpu(of), source(std::move(from)), devices(may_access), props(wanted), kind(what) {}
  ~Pool();

  Gpu& gpu;  ///< that it belongs to; the first where that is no device
  const std::shared_ptr<PoolSource> source;
  std::atomic<std::uint64_t> devices;  ///< whose kernels may access it, each a bit
  const CUmemPoolProps props;
  const Kind kind;
  CUmemoryPool handle = nullptr;
  /// Of an imported one: the pool that it stands for, as its process names it.
  struct Origin {
    std::int32_t process = 0;
    std::uint64_t pool = 0;
    bool operator==(const Origin&) const = default;
  };
  Origin origin;

  struct Block {
    DevicePtr address;
    std::uint64_t bytes = 0;
  };
  /// Of a device's own memory.
  bool is_of_device() const {
    return props.allocType == ALLOCATION_PINNED && props.location.type == LOCATION_DEVICE;
  }
  bool is_shareable() const { return props.handleTypes != HANDLE_TYPE_NONE; }

  /// Memory for work of this stream from now on. @errors out_of_memory
  Result<Block> take(Stream& stream, std::uint64_t bytes);
  /// Gives a block back: free once the stream's work so far is done; without a stream, all of the context's.
  void give_back(const Block& block, std::uint64_t used, const std::shared_ptr<Context>& context,
                 Stream* stream);
  /// Frees blocks that nothing uses until this many bytes are left.
  void release(std::uint64_t bytes_to_keep);
  void release_beyond_threshold();
  void forget(const Context& context);  ///< whose work is done, and which ends

  Status get(CUmemPool_attribute attribute, void* value);
  Status set(CUmemPool_attribute attribute, const void* value);

 private:
  struct Free {
    Block block;
    std::shared_ptr<Context> context;
    std::uint64_t stream = 0;           ///< id
    std::uint64_t position = 0;         ///< of the free among those of the stream
    std::optional<raddle::Event> done;  ///< none: nothing uses it
    bool is_done() const { return !done || done->done(); }
  };
  std::optional<Free> take_free(std::uint64_t bytes, bool (*usable)(const Pool&, const Free&, Stream&),
                                Stream& stream);
  void count(std::uint64_t used);

  std::mutex mutex_;
  std::vector<Free> free_;
  std::uint64_t threshold_ = 0, reserved_ = 0, reserved_high_ = 0, used_ = 0, used_high_ = 0;
  int follow_events_ = 1, opportunistic_ = 1, internal_dependencies_ = 1;
};

/// The pool of the memory that begins here; null for other memory.
std::shared_ptr<Pool> pool_of(CUdeviceptr address);

/// Gives memory back to its pool: after the work so far of the stream, or of the context. False if it is not
/// the start of such memory.
bool free_pooled(CUdeviceptr address, const std::shared_ptr<Context>& context, Stream* stream);

/// After a synchronisation: pools give back what exceeds their thresholds.
void release_pools();

}  // namespace raddle::driver
