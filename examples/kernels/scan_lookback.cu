// Inclusive prefix sum of n unsigned integers in a single pass (decoupled look-back): a block takes
// the next tile by ticket, publishes the tile's sum, then its first warp walks back over the tiles
// before it, 32 at a time, spinning on those that have published nothing yet.
// One 64-bit word per tile holds state and value, so a single load sees both.

constexpr unsigned kEmpty = 0, kAggregate = 1, kPrefix = 2;  // kEmpty: what the host clears to

__device__ __forceinline__ unsigned long long pack(unsigned state, unsigned value) {
  return (static_cast<unsigned long long>(state) << 32) | value;
}

__device__ __forceinline__ unsigned warp_inclusive_scan(unsigned value, int lane) {
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const unsigned other = __shfl_up_sync(0xffffffffu, value, offset);
    if (lane >= offset) value += other;
  }
  return value;
}

/// Sum of all tiles before `tile`; called by a whole warp.
__device__ unsigned look_back(volatile unsigned long long* tiles, int tile, int lane) {
  unsigned exclusive = 0;
  for (int newest = tile - 1; newest >= 0; newest -= 32) {
    const int mine = newest - lane;
    unsigned long long word = pack(kPrefix, 0);  // before the first tile: a prefix of nothing
    if (mine >= 0) {
      do {
        word = tiles[mine];
      } while (static_cast<unsigned>(word >> 32) == kEmpty);
    }
    const unsigned prefixes = __ballot_sync(0xffffffffu, static_cast<unsigned>(word >> 32) == kPrefix);
    const int first = prefixes ? __ffs(prefixes) - 1 : 31;  // nearest tile whose prefix is known
    const unsigned value = lane <= first ? static_cast<unsigned>(word) : 0u;
    exclusive += __reduce_add_sync(0xffffffffu, value);
    if (prefixes) break;
  }
  return exclusive;
}

extern "C" __global__ void scan_lookback(const unsigned* in, unsigned* out, unsigned long long* tiles,
                                         unsigned* ticket, int n) {
  __shared__ unsigned warp_totals[32];
  __shared__ unsigned shared_tile, shared_exclusive;
  if (threadIdx.x == 0) shared_tile = atomicAdd(ticket, 1u);
  __syncthreads();
  const int tile = shared_tile;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const int i = tile * blockDim.x + threadIdx.x;

  unsigned value = warp_inclusive_scan(i < n ? in[i] : 0u, lane);
  if (lane == 31) warp_totals[warp] = value;
  __syncthreads();
  if (warp == 0) {
    const unsigned total = lane < warps ? warp_totals[lane] : 0u;
    const unsigned scanned = warp_inclusive_scan(total, lane);
    if (lane < warps) warp_totals[lane] = scanned - total;
    const unsigned aggregate = __shfl_sync(0xffffffffu, scanned, 31);
    volatile unsigned long long* published = tiles;
    if (lane == 0) published[tile] = pack(tile == 0 ? kPrefix : kAggregate, aggregate);
    const unsigned exclusive = tile == 0 ? 0u : look_back(tiles, tile, lane);
    if (lane == 0) {
      if (tile != 0) published[tile] = pack(kPrefix, exclusive + aggregate);
      shared_exclusive = exclusive;
    }
  }
  __syncthreads();
  if (i < n) out[i] = shared_exclusive + warp_totals[warp] + value;
}
