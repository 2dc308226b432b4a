// Bulk asynchronous copies (PTX cp.async.bulk, cp.reduce.async.bulk and their tensor forms) as engines hand
// them to the machine, whose tensor memory unit runs them: one request per thread that executes one. A
// request holds its own data only; the tensor map has what requests share.
#pragma once

#include <cstdint>

#include "exec/tensor_map.h"

namespace raddle::exec {

enum class BulkDirection : std::uint8_t {
  to_shared,         ///< from global memory, to that of any CTAs of the cluster
  shared_to_shared,  ///< from the CTA's own, to that of any CTA of the cluster
  to_global,         ///< from the CTA's own
  to_cache,          ///< from global memory into L2: a hint
};

enum class BulkMode : std::uint8_t {
  linear,  ///< bytes; the request has no tensor map
  tile,
  im2col,  ///< to global memory: without offsets
};

enum class BulkReduction : std::uint8_t { none, add, min, max, inc, dec, and_, or_, xor_ };

/// Elements of reductions without tensor map. Bits are unsigned.
enum class BulkElement : std::uint8_t { u32, s32, u64, s64, f16, bf16, f32, f64 };

/// What all requests of an instruction have in common.
struct BulkKind {
  BulkDirection direction = BulkDirection::to_shared;
  BulkMode mode = BulkMode::linear;
  BulkReduction reduction = BulkReduction::none;
  BulkElement element = BulkElement::u32;
  std::uint8_t rank = 0;    ///< of the tensor that the instruction names, 1 to 5
  bool multicast = false;   ///< BulkRequest::receivers counts
  bool own_memory = false;  ///< the destination is .shared::cta: of the requester itself

  constexpr std::uint32_t word() const {
    return static_cast<std::uint32_t>(direction) | static_cast<std::uint32_t>(mode) << 4 |
           static_cast<std::uint32_t>(reduction) << 8 | static_cast<std::uint32_t>(element) << 12 |
           std::uint32_t{rank} << 16 | std::uint32_t{multicast} << 20 | std::uint32_t{own_memory} << 21;
  }
  static constexpr BulkKind from_word(std::uint32_t word) {
    return {.direction = static_cast<BulkDirection>(word & 15),
            .mode = static_cast<BulkMode>(word >> 4 & 15),
            .reduction = static_cast<BulkReduction>(word >> 8 & 15),
            .element = static_cast<BulkElement>(word >> 12 & 15),
            .rank = static_cast<std::uint8_t>(word >> 16 & 15),
            .multicast = (word >> 20 & 1) != 0,
            .own_memory = (word >> 21 & 1) != 0};
  }
};

/// One request; nobody reads fields that its kind does not use. All addresses are generic.
struct BulkRequest {
  std::uint32_t kind;     ///< BulkKind::word()
  std::uint32_t bytes;    ///< linear
  std::uint64_t global;   ///< the bytes; with a tensor map the map
  std::uint64_t shared;   ///< where data lands; to_global: where it comes from
  std::uint64_t source;   ///< shared_to_shared: where it comes from
  std::uint64_t barrier;  ///< the mbarrier that counts the bytes
  std::int32_t coordinates[kMaxTensorRank];
  std::uint16_t offsets[3];  ///< im2col: W, H, D
  std::uint16_t receivers;   ///< multicast: mask of ranks
};

}  // namespace raddle::exec
