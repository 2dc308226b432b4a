// Rings of tiles (rings.cu) as nvcc compiles them, on every engine; and without each line that orders what
// they do.
#include "rings.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "exec/tensor_map.h"
#include "kernel_test.h"
#include "lost_lines.h"

namespace {

using Words = std::vector<unsigned>;

struct RingMap {
  alignas(64) std::byte bytes[raddle::exec::kTensorMapBytes];
};

/// Of u32; boxes of `rows` rows, one plane deep.
RingMap ring_map(std::uint64_t address, const rings::Tensor& tensor, unsigned rank, unsigned depth,
                 unsigned rows) {
  RingMap made;
  raddle::exec::TensorMap map;
  const auto width = static_cast<std::uint64_t>(tensor.width()),
             height = static_cast<std::uint64_t>(tensor.height());
  map.element = raddle::exec::TensorMap::Element::u32;
  map.rank = rank;
  map.address = address;
  map.size = {width, height, depth};
  map.stride = {4, width * 4, width * height * 4};
  map.box = {rings::kColumns, rows, 1};
  map.step = {1, 1, 1};
  if (rank == 2) map.size[2] = map.stride[2] = map.box[2] = map.step[2] = 0;
  encode(map, made.bytes);
  return made;
}

/// A launch of `ring` (cluster 0), or of `multicast_ring`.
struct RingLaunch {
  unsigned blocks = 1, cluster = 0;
  rings::Tensor tensor{3, 2};
};

class RingTest : public KernelTestBase {
 protected:
  using KernelTestBase::KernelTestBase;

  /// Launches the kernel of module().
  /// @returns what went wrong: "wrong result" or the fault; empty: nothing
  std::string problem_of(const RingLaunch& launch) {
    const rings::Tensor& tensor = launch.tensor;
    const auto elements = static_cast<std::size_t>(tensor.elements());
    const unsigned planes = launch.cluster == 0 ? 1 : launch.blocks;
    Words in(elements), want(elements * planes), want_back;
    for (std::size_t i = 0; i < elements; ++i) in[i] = static_cast<unsigned>(i) * 2654435761u >> 7;
    for (unsigned block = 0; block < launch.blocks; ++block) {
      const bool alone = launch.cluster == 0;
      const auto [first, second] =
          rings::compute(tensor, in, want.data() + (alone ? 0 : block * elements), alone ? 1 : 1 + block,
                         alone ? static_cast<int>(block) : 0, alone ? static_cast<int>(launch.blocks) : 1);
      want_back.insert(want_back.end(), {first, second});
    }
    auto from = buffer(in), to = buffer(Words(want.size(), ~0u)), back = buffer(Words(want_back.size(), ~0u));
    const auto box = [&](unsigned parts) { return static_cast<unsigned>(rings::kRows) / parts; };
    const RingMap in_map = ring_map(from.address().value, tensor, 2, 0, box(std::max(launch.cluster, 1u)));
    const RingMap out_map = ring_map(to.address().value, tensor, launch.cluster == 0 ? 2 : 3, planes, box(2));
    auto report =
        launch.cluster == 0
            ? try_run(*module().kernel("ring"), {.grid = {launch.blocks}, .block = {rings::kThreads}}, in_map,
                      out_map, to, back, tensor.width(), tensor.tiles_x, tensor.tiles())
            : try_run(*module().kernel("multicast_ring"),
                      {.grid = {launch.blocks}, .block = {rings::kThreads}, .cluster = {launch.cluster}},
                      in_map, out_map, to, back, tensor.width(), tensor.elements(), tensor.tiles_x,
                      tensor.tiles());
    if (!report.ok()) return report.error().to_string();
    return contents(to) == want && contents(back) == want_back ? "" : "wrong result";
  }
};

class Rings : public RingTest, public testing::WithParamInterface<EngineChoice> {
 protected:
  Rings() : RingTest(GetParam()) {}
};
ON_EVERY_ENGINE(Rings);

// proves: T-5f, T-12a, T-12b, T-15a, T-15d, T-15e, W-17j
TEST_P(Rings, CarryATensor) {
  for (const RingLaunch& launch : {RingLaunch{1}, {3}, {1, 1}, {4, 2}, {8, 4}}) {
    kernel("rings.ptx", "ring");
    EXPECT_EQ(problem_of(launch), "") << launch.blocks << ' ' << launch.cluster;
  }
}

// ---- without a line ----

class LostWaits : public RingTest, public testing::WithParamInterface<EngineChoice> {
 protected:
  LostWaits() : RingTest(GetParam()) {}

  void check(const std::string& kernel, const RingLaunch& launch) {
    std::ifstream file(RADDLE_KERNEL_TESTS "/rings.ptx");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    lost_lines::check(lost_lines::only(text, kernel), 14, 1, interpreted(),
                      [&](const std::string& changed, raddle::Asynchrony asynchrony) {
                        close();
                        options_.shape = "tiny";
                        options_.asynchrony = asynchrony;
                        options_.time_limit = std::chrono::seconds(20);
                        load_text(changed);
                        return problem_of(launch);
                      });
  }
};
/// The interpreter and one other, if this build has one.
std::vector<EngineChoice> two_engines() {
  std::vector<EngineChoice> two{kEngines.front()};
  if (kEngines.size() > 1) two.push_back(kEngines.back());
  return two;
}
INSTANTIATE_TEST_SUITE_P(Engines, LostWaits, testing::ValuesIn(two_engines()), engine_name);

// proves: T-16f, T-16g, T-16h, T-16i
TEST_P(LostWaits, OfARing) { check("ring", {}); }
TEST_P(LostWaits, OfAMulticastRing) { check("multicast_ring", {2, 2}); }

}  // namespace
