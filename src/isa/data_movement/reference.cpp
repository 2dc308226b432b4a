// Reference semantics of moves, shuffles, loads, stores, address conversion and cache hints. cvt:
// reference_cvt.cpp.
#include "interp/reference.h"

#include <emmintrin.h>

#include <algorithm>

#include "exec/cluster.h"
#include "interp/lane.h"
#include "interp/mbarriers.h"
#include "interp/sends.h"
#include "interp/types.h"
#include "interp/warp.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Instruction;

namespace {

std::uint64_t low_bits(std::uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

Bits128 pack(Lane& lane, unsigned k, unsigned bits) {
  unsigned count = lane.count(k), each = bits / count;
  Bits128 packed = 0;
  for (unsigned e = 0; e < count; ++e) {
    packed |= static_cast<Bits128>(low_bits(lane.value<std::uint64_t>(lane.element(k, e)), each))
              << (e * each);
  }
  return packed;
}

void unpack(Lane& lane, unsigned k, unsigned bits, Bits128 value) {
  unsigned count = lane.count(k), each = bits / count;
  for (unsigned e = 0; e < count; ++e) {
    lane.assign<std::uint64_t>(lane.element(k, e),
                               low_bits(static_cast<std::uint64_t>(value >> (e * each)), each));
  }
}

/// Volatile, relaxed and stronger accesses are single at their size, vectors of 16 bytes included.
bool is_strong(const Instruction& i) {
  Mod semantics = i.opcode->get(isa::ModKind::semantics);
  return semantics != Mod::none && semantics != Mod::weak;
}

int load_order(const Instruction& i) {
  return i.opcode->has(Mod::acquire) ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
}
int store_order(const Instruction& i) {
  return i.opcode->has(Mod::release) ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;
}

/// Bytes of one access, in up to two 16-byte pieces.
struct alignas(32) Bytes {
  std::byte data[32];
};

Bytes load_bytes(const std::byte* from, unsigned size, unsigned element, bool single, int order) {
  Bytes bytes{};
  if (element == 16 || (single && size >= 16)) {
    for (unsigned at = 0; at < size; at += 16) {
      _mm_store_si128(reinterpret_cast<__m128i*>(bytes.data + at),
                      _mm_load_si128(reinterpret_cast<const __m128i*>(from + at)));
    }
    if (order != __ATOMIC_RELAXED) __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return bytes;
  }
  unsigned step = single ? size : element;
  for (unsigned at = 0; at < size; at += step) {
    const std::byte* p = from + at;
    std::byte* to = bytes.data + at;
    switch (step) {
      case 1:
        *reinterpret_cast<std::uint8_t*>(to) =
            __atomic_load_n(reinterpret_cast<const std::uint8_t*>(p), order);
        break;
      case 2:
        *reinterpret_cast<std::uint16_t*>(to) =
            __atomic_load_n(reinterpret_cast<const std::uint16_t*>(p), order);
        break;
      case 4:
        *reinterpret_cast<std::uint32_t*>(to) =
            __atomic_load_n(reinterpret_cast<const std::uint32_t*>(p), order);
        break;
      default:
        *reinterpret_cast<std::uint64_t*>(to) =
            __atomic_load_n(reinterpret_cast<const std::uint64_t*>(p), order);
        break;
    }
  }
  return bytes;
}

void store_bytes(std::byte* to, const Bytes& bytes, unsigned size, unsigned element, bool single, int order) {
  if (element == 16 || (single && size >= 16)) {
    if (order != __ATOMIC_RELAXED) __atomic_thread_fence(__ATOMIC_RELEASE);
    for (unsigned at = 0; at < size; at += 16) {
      _mm_store_si128(reinterpret_cast<__m128i*>(to + at),
                      _mm_load_si128(reinterpret_cast<const __m128i*>(bytes.data + at)));
    }
    return;
  }
  unsigned step = single ? size : element;
  for (unsigned at = 0; at < size; at += step) {
    std::byte* p = to + at;
    const std::byte* from = bytes.data + at;
    switch (step) {
      case 1:
        __atomic_store_n(reinterpret_cast<std::uint8_t*>(p), *reinterpret_cast<const std::uint8_t*>(from),
                         order);
        break;
      case 2:
        __atomic_store_n(reinterpret_cast<std::uint16_t*>(p), *reinterpret_cast<const std::uint16_t*>(from),
                         order);
        break;
      case 4:
        __atomic_store_n(reinterpret_cast<std::uint32_t*>(p), *reinterpret_cast<const std::uint32_t*>(from),
                         order);
        break;
      default:
        __atomic_store_n(reinterpret_cast<std::uint64_t*>(p), *reinterpret_cast<const std::uint64_t*>(from),
                         order);
        break;
    }
  }
}

template <class T>
T element_at(const Bytes& bytes, unsigned e) {
  return *reinterpret_cast<const T*>(bytes.data + e * sizeof(T));
}

void load(Lane& lane, const Instruction& i) {
  Type type = i.opcode->type();
  unsigned element = isa::byte_size(type), count = i.opcode->vector_length(), size = element * count;
  const std::byte* from = lane.access(1, size);
  Bytes bytes = lane.touch([&] { return load_bytes(from, size, element, is_strong(i), load_order(i)); });
  for (unsigned e = 0; e < count; ++e) {
    const ptx::Operand& to = lane.element(0, e);
    if (isa::is_signed(type)) {
      with_integer(type,
                   [&](auto tag) { lane.assign<decltype(tag)>(to, element_at<decltype(tag)>(bytes, e)); });
    } else {
      with_bits(type, [&](auto tag) { lane.assign<decltype(tag)>(to, element_at<decltype(tag)>(bytes, e)); });
    }
  }
}

/// Of operand 1: a scalar or a {vector}.
Bytes bytes_to_store(const Lane& lane, const Instruction& i) {
  Bytes bytes{};
  for (unsigned e = 0; e < i.opcode->vector_length(); ++e) {
    with_bits(i.opcode->type(), [&](auto tag) {
      using T = decltype(tag);
      *reinterpret_cast<T*>(bytes.data + e * sizeof(T)) = lane.value<T>(lane.element(1, e));
    });
  }
  return bytes;
}

void store(Lane& lane, const Instruction& i) {
  const unsigned element = isa::byte_size(i.opcode->type()), size = element * i.opcode->vector_length();
  const Bytes bytes = bytes_to_store(lane, i);
  std::byte* to = lane.access(0, size);
  lane.touch([&] { store_bytes(to, bytes, size, element, is_strong(i), store_order(i)); });
}

/// Source lane of a shuffle and whether it is in range (PTX ISA "shfl.sync").
struct Source {
  unsigned lane;
  bool valid;
};
Source source_lane(Mod mode, unsigned lane, std::uint32_t b, std::uint32_t c) {
  unsigned amount = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  unsigned highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
  int j = 0;
  bool valid = false;
  switch (mode) {
    case Mod::up:
      j = static_cast<int>(lane) - static_cast<int>(amount);
      valid = j >= static_cast<int>(highest);
      break;
    case Mod::down:
      j = static_cast<int>(lane + amount);
      valid = j <= static_cast<int>(highest);
      break;
    case Mod::bfly:
      j = static_cast<int>(lane ^ amount);
      valid = j <= static_cast<int>(highest);
      break;
    default:
      j = static_cast<int>(lowest | (amount & ~segment));
      valid = j <= static_cast<int>(highest);
      break;
  }
  return {valid ? static_cast<unsigned>(j) : lane, valid};
}

/// A source lane that takes no part leaves the result undefined in PTX; here it is the lane's own value.
void shuffle(WarpStep& step, const Instruction& i) {
  std::uint32_t values[exec::kWarpSize];
  step.each([&](Lane& lane) { values[lane.index()] = lane.in<std::uint32_t>(2); });
  step.each([&](Lane& lane) {
    Source from = source_lane(i.opcode->get(isa::ModKind::shuffle), lane.index(), lane.in<std::uint32_t>(3),
                              lane.in<std::uint32_t>(4));
    unsigned j = (step.lanes() >> from.lane & 1) != 0 ? from.lane : lane.index();
    lane.out<std::uint32_t>(0, values[j]);
    if (lane.has(1)) lane.out<bool>(1, from.valid);
  });
}

}  // namespace

template <>
void reference<Op::mov>(Lane& lane, const Instruction& i) {
  unsigned bits = isa::bit_size(i.opcode->type());
  if (lane.operand(1).kind == ptx::Operand::Kind::vector) {
    lane.out<Bits128>(0, pack(lane, 1, bits));
  } else if (lane.operand(0).kind == ptx::Operand::Kind::vector) {
    unpack(lane, 0, bits, lane.in<Bits128>(1));
  } else {
    lane.out<Bits128>(0, lane.in<Bits128>(1));
  }
}

template <>
void reference_warp<Op::shfl_sync>(WarpStep& step, const Instruction& i) {
  shuffle(step, i);
}
template <>
void reference_warp<Op::shfl>(WarpStep& step, const Instruction& i) {
  shuffle(step, i);
}

/// Bytes 0-3 are a's, 4-7 b's; a selector's top bit replicates the byte's sign.
template <>
void reference<Op::prmt>(Lane& lane, const Instruction& i) {
  std::uint64_t bytes =
      static_cast<std::uint64_t>(lane.in<std::uint32_t>(2)) << 32 | lane.in<std::uint32_t>(1);
  std::uint32_t c = lane.in<std::uint32_t>(3), n = c & 3, result = 0;
  for (std::uint32_t k = 0; k < 4; ++k) {
    std::uint32_t selector = 0;
    switch (i.opcode->get(isa::ModKind::permute)) {
      case Mod::f4e:
        selector = n + k;
        break;
      case Mod::b4e:
        selector = (n - k) & 7;
        break;
      case Mod::rc8:
        selector = n;
        break;
      case Mod::ecl:
        selector = std::max(n, k);
        break;
      case Mod::ecr:
        selector = std::min(n, k);
        break;
      case Mod::rc16:
        selector = (n & 1) * 2 + (k & 1);
        break;
      default:
        selector = c >> (4 * k) & 15;
        break;
    }
    auto byte = static_cast<std::uint32_t>(bytes >> (8 * (selector & 7)) & 0xff);
    if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * k);
  }
  lane.out<std::uint32_t>(0, result);
}

template <>
void reference<Op::ld>(Lane& lane, const Instruction& i) {
  load(lane, i);
}
template <>
void reference<Op::ldu>(Lane& lane, const Instruction& i) {
  load(lane, i);
}
template <>
void reference<Op::st>(Lane& lane, const Instruction& i) {
  store(lane, i);
}

template <>
void reference_warp<Op::st_async>(WarpStep& step, const Instruction& i) {
  const unsigned element = isa::byte_size(i.opcode->type()), size = element * i.opcode->vector_length();
  step.each([&](Lane& lane) {
    const Bytes bytes = bytes_to_store(lane, i);
    const SendPlaces places = send_places(lane, size);
    if (send_late(lane, places, bytes.data, size, {})) return;
    lane.touch([&] { store_bytes(places.to, bytes, size, element, is_strong(i), store_order(i)); });
    complete_transactions(lane, places.mbarrier, size);
  });
}

// The group has one device only.
template <>
void reference<Op::multimem_ld_reduce>(Lane& lane, const Instruction& i) {
  load(lane, i);
}
template <>
void reference<Op::multimem_st>(Lane& lane, const Instruction& i) {
  store(lane, i);
}

// Hints to caches that Raddle does not have. A discarded line may keep its contents.
template <>
void reference<Op::prefetch>(Lane&, const Instruction&) {}
template <>
void reference<Op::prefetchu>(Lane&, const Instruction&) {}
template <>
void reference<Op::applypriority>(Lane&, const Instruction&) {}
template <>
void reference<Op::discard>(Lane&, const Instruction&) {}
// A cache policy is opaque; ours carries nothing.
template <>
void reference<Op::createpolicy_range>(Lane& lane, const Instruction&) {
  lane.out<std::uint64_t>(0, 0);
}
template <>
void reference<Op::createpolicy_fractional>(Lane& lane, const Instruction&) {
  lane.out<std::uint64_t>(0, 0);
}
template <>
void reference<Op::createpolicy_cvt>(Lane& lane, const Instruction&) {
  lane.out<std::uint64_t>(0, 0);
}

template <>
void reference<Op::isspacep>(Lane& lane, const Instruction& i) {
  const std::uint64_t a = lane.in<std::uint64_t>(1);
  const Mod space = i.opcode->get(isa::ModKind::space);
  lane.out<bool>(0,
                 space == Mod::shared_cluster ? lane.in_cluster(a) : lane.in_space(ptx::space_of(space), a));
}

template <>
void reference<Op::cvta>(Lane& lane, const Instruction& i) {
  ptx::Space space = ptx::space_of(i.opcode->get(isa::ModKind::space));
  std::uint64_t a = lane.in<std::uint64_t>(1);
  lane.out<std::uint64_t>(0,
                          i.opcode->has(Mod::to) ? lane.from_generic(space, a) : lane.to_generic(space, a));
}

namespace {
/// Host address that shared addresses count from in operands of mapa and getctarank.
std::uint64_t origin(const Lane& lane, const Instruction& i) {
  return i.opcode->has(Mod::shared_cluster) ? 0 : lane.to_generic(ptx::Space::shared, 0);
}
}  // namespace

template <>
void reference<Op::mapa>(Lane& lane, const Instruction& i) {
  const std::uint64_t from = origin(lane, i), a = lane.in<std::uint64_t>(1) - from;
  lane.out<std::uint64_t>(0, from + exec::map_to_rank(a, lane.in<std::uint32_t>(2)));
}

template <>
void reference<Op::getctarank>(Lane& lane, const Instruction& i) {
  const auto a = static_cast<std::uint32_t>(lane.in<std::uint64_t>(1) - origin(lane, i));
  lane.out<std::uint32_t>(0, exec::rank_of(a));
}

}  // namespace raddle::interp
