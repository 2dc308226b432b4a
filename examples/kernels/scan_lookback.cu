// Inclusive prefix sum of n unsigned integers in a single pass (decoupled look-back): a block takes
// the next tile by ticket, publishes the tile's sum, then its first warp walks back over the tiles
// before it, 32 at a time, spinning on those that have published nothing yet.
// One 64-bit word per tile holds state and value, so a single load sees both.
// A tile has kItems elements per thread. Each warp scans a part of it in rows, in which a thread has
// four neighbours: one access of 16 bytes.

constexpr int kVector = 4, kRows = 4, kItems = kVector * kRows;
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

/// Sums of a warp's part of a tile: x[row] up to and including each element.
__device__ __forceinline__ unsigned scan_rows(uint4 (&x)[kRows], int lane) {
  unsigned before = 0;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    x[row].y += x[row].x;
    x[row].z += x[row].y;
    x[row].w += x[row].z;
    const unsigned up_to = warp_inclusive_scan(x[row].w, lane), below = before + up_to - x[row].w;
    x[row] = {x[row].x + below, x[row].y + below, x[row].z + below, x[row].w + below};
    before += __shfl_sync(0xffffffffu, up_to, 31);
  }
  return before;
}

/// Blocks are of whole warps. in, out: n elements, a multiple of kVector, 16-byte aligned. tiles (one word each)
/// and ticket: cleared by the host.
extern "C" __global__ void scan_lookback(const unsigned* in, unsigned* out, unsigned long long* tiles,
                                         unsigned* ticket, int n) {
  __shared__ unsigned warp_totals[32];
  __shared__ unsigned shared_tile, shared_exclusive;
  if (threadIdx.x == 0) shared_tile = atomicAdd(ticket, 1u);
  __syncthreads();
  const int tile = shared_tile;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const int first = tile * blockDim.x * kItems + warp * 32 * kItems + lane * kVector;

  uint4 x[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const int i = first + row * 32 * kVector;
    x[row] = i < n ? *reinterpret_cast<const uint4*>(in + i) : uint4{0, 0, 0, 0};
  }
  const unsigned warp_total = scan_rows(x, lane);
  if (lane == 0) warp_totals[warp] = warp_total;
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
  const unsigned before = shared_exclusive + warp_totals[warp];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const uint4 y = {x[row].x + before, x[row].y + before, x[row].z + before, x[row].w + before};
    const int i = first + row * 32 * kVector;
    if (i < n) *reinterpret_cast<uint4*>(out + i) = y;
  }
}
