// The unit beside an H200's: what copies of tensors move and which are illegal
// (tests/hardware/probes/tensor_copies.cu, its answers in tests/golden/h200_tensor_copies.txt).
#include <algorithm>
#include <fstream>
#include <sstream>

#include "hardware/probes/units.h"
#include "tma_fixture.h"
#include "unit/source_directory.h"

namespace raddle::machine {
namespace {

using exec::BulkKind;
using exec::TensorMap;

constexpr std::uint32_t kUnits = 1 << 18, kBase = 1 << 14;  ///< units of the tensor's memory, and its first
constexpr std::uint32_t kCopied = 40960;                    ///< bytes of shared memory that are looked at
constexpr std::uint32_t kFromShared = 0x80000000;

/// A line of the file. What it does not say is as in the probe's usual question.
struct Question {
  std::string what, mode, answer;
  std::uint32_t type = 1, interleave = 0, swizzle = 0, rank = 3, pixels = 1, channels = 8;
  std::array<std::uint64_t, 5> sizes = {16, 4, 4, 4, 4};
  std::array<std::uint64_t, 4> strides = {320, 6400, 64000, 320000};
  std::array<std::uint32_t, 5> box = {8, 1, 1, 1, 1}, steps = {1, 1, 1, 1, 1};
  std::array<std::int32_t, 3> lower{}, upper{};
  std::array<std::int32_t, 5> start{};
  std::array<std::uint16_t, 3> offsets{};
};

template <class T>
void read(std::istream& in, T& value) {
  in >> value;
}
template <class T, std::size_t n>
void read(std::istream& in, std::array<T, n>& values) {
  for (T& value : values) in >> value;
}

Question parsed(const std::string& line) {
  Question q;
  const std::size_t end = line.find(':');
  std::istringstream in(line.substr(0, end));
  q.answer = line.substr(end + 1);
  in >> q.what >> q.mode;
  for (std::string name; in >> name;) {
    if (name == "type")
      read(in, q.type);
    else if (name == "interleave")
      read(in, q.interleave);
    else if (name == "swizzle")
      read(in, q.swizzle);
    else if (name == "rank")
      read(in, q.rank);
    else if (name == "pixels")
      read(in, q.pixels);
    else if (name == "channels")
      read(in, q.channels);
    else if (name == "sizes")
      read(in, q.sizes);
    else if (name == "strides")
      read(in, q.strides);
    else if (name == "box")
      read(in, q.box);
    else if (name == "steps")
      read(in, q.steps);
    else if (name == "lower")
      read(in, q.lower);
    else if (name == "upper")
      read(in, q.upper);
    else if (name == "start")
      read(in, q.start);
    else if (name == "offsets")
      read(in, q.offsets);
    else
      ADD_FAILURE() << name << " in " << line;
  }
  return q;
}

TensorMap map_of(const Question& q, std::uint64_t address) {
  TensorMap map;
  map.mode = q.mode == "tile" ? TensorMap::Mode::tile : TensorMap::Mode::im2col;
  map.element = static_cast<TensorMap::Element>(q.type);
  map.rank = q.rank;
  map.address = address;
  map.size = q.sizes;
  std::copy(q.strides.begin(), q.strides.end(), map.stride.begin() + 1);
  map.box = q.box;
  map.step = q.steps;
  map.lower = q.lower, map.upper = q.upper;
  map.channels = q.channels, map.pixels = q.pixels;
  map.interleave = static_cast<TensorMap::Interleave>(q.interleave);
  map.swizzle = static_cast<TensorMap::Swizzle>(q.swizzle);
  return map;
}

BulkKind kind_of(const Question& q) {
  const char* const reductions[] = {"none", "add", "min", "max", "inc", "dec", "and", "or", "xor"};
  const auto* const reduction = std::ranges::find(reductions, q.what);
  return {.direction = q.what == "load"       ? exec::BulkDirection::to_shared
                       : q.what == "prefetch" ? exec::BulkDirection::to_cache
                                              : exec::BulkDirection::to_global,
          .mode = q.mode == "tile" ? exec::BulkMode::tile : exec::BulkMode::im2col,
          .reduction = reduction == std::end(reductions)
                           ? exec::BulkReduction::none
                           : static_cast<exec::BulkReduction>(reduction - reductions),
          .rank = static_cast<std::uint8_t>(q.rank)};
}

class TmaHardware : public TmaTest {
 protected:
  TmaHardware() : memory_(kUnits * 4 + 64), map_bytes_(256) {}

  std::uint32_t* tensor() { return aligned(memory_); }
  /// What the unit answers, in the file's words.
  std::string ask(const Question& q) {
    const TensorMap map = map_of(q, address(tensor() + kBase * 4));
    if (!exec::check(map).ok()) return " refused";
    std::byte* const bytes = aligned(map_bytes_);
    encode(map, bytes);
    exec::BulkRequest request{
        .kind = kind_of(q).word(), .global = address(bytes), .shared = at(kBlock), .barrier = at(kBarrier)};
    std::ranges::copy(q.start, request.coordinates);
    std::ranges::copy(q.offsets, request.offsets);
    const bool loads = q.what == "load";
    auto* const box = reinterpret_cast<std::uint32_t*>(shared(kBlock));
    for (std::uint32_t i = 0; i < kCopied / 4; ++i) box[i] = loads ? kUntouched : kFromShared + i;
    exec::init_mbarrier(barrier(), 1);
    if (const TmaProblem problem = unit_.submit(thread(), request)) {
      EXPECT_EQ(problem.fault, exec::FaultKind::illegal_instruction) << problem.note;
      return " illegal";
    }
    EXPECT_FALSE(unit_.drain());
    if (loads) {
      std::uint32_t written = 0;
      const std::string text = units_of(box, kCopied / 4, kBase, written);
      EXPECT_EQ(exec::Mbarrier::unpack(barrier()).transactions, -static_cast<std::int32_t>(written));
      return text;
    }
    return q.what == "store" ? stored() : " legal";
  }
  /// The units of the tensor that are no longer their own number, which they become again.
  std::string stored() {
    std::string text;
    for (std::uint32_t i = 0; i < kUnits; ++i) {
      std::uint32_t* const words = tensor() + i * 4;
      if (words[0] == i * 4) continue;
      text += " " + std::to_string(static_cast<int>(i) - static_cast<int>(kBase)) + "=" +
              std::to_string((words[0] - kFromShared) / 4);
      std::iota(words, words + 4, i * 4);
    }
    return text;
  }

  std::vector<std::uint32_t> memory_;
  std::vector<std::byte> map_bytes_;
};

// proves: T-2a, T-5a, T-7a, T-9a, T-10a, T-13b
TEST_F(TmaHardware, CopiesMoveWhatAnH200Moves) {
  std::iota(tensor(), tensor() + kUnits * 4, 0u);
  std::ifstream file(source_directory() + "/tests/golden/h200_tensor_copies.txt");
  unsigned asked = 0, forbidden = 0;
  for (std::string line; std::getline(file, line); ++asked) {
    const Question q = parsed(line);
    // cuda.h forbids another swizzle there; that driver does not look.
    const bool is_forbidden = q.interleave == 2 && q.swizzle != 1;
    forbidden += is_forbidden;
    EXPECT_EQ(ask(q), is_forbidden ? " refused" : q.answer) << line;
    if (q.what != "load" && q.what != "store") std::iota(tensor(), tensor() + kUnits * 4, 0u);
  }
  EXPECT_EQ(asked, 1882u);
  EXPECT_EQ(forbidden, 12u);
}

}  // namespace
}  // namespace raddle::machine
