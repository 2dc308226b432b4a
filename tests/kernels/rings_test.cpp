// Rings of tiles (rings.cu) as nvcc compiles them, on every engine; and with each wait, fence, expected
// count, arrival and change of phase taken out, one at a time: the machine must show that something is
// missing.
#include "rings.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>

#include "exec/tensor_map.h"
#include "kernel_test.h"

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

/// A kernel without one thing that it needs.
struct Loss {
  std::size_t line = 0;  ///< in rings.ptx
  std::string what;
  std::string instruction;
  std::string text;  ///< of the whole module
};

/// What instructions are lost, and what stands in their place: what follows must find its operands.
struct Losable {
  const char* what;
  std::regex pattern;
  const char* instead;
};

const std::vector<Losable>& losable() {
  static const std::vector<Losable> all = {
      {"wait for phase", std::regex(R"(mbarrier\.(try|test)_wait\S*\s+(\S+),.*)"), "setp.eq.u32 $2, 0, 0;"},
      {"expected bytes", std::regex(R"(mbarrier\.arrive\.expect_tx(\S*\s+\S+,\s*\[[^\]]*\]),.*)"),
       "mbarrier.arrive$1;"},
      {"expected bytes", std::regex(R"(mbarrier\.expect_tx\b.*)"), ""},
      {"arrival", std::regex(R"(mbarrier\.arrive.*)"), ""},
      {"change of phase", std::regex(R"(xor\.b32\s+(\S+),\s*(\S+),.*)"), "mov.b32 $1, $2;"},
      {"fence", std::regex(R"(fence\..*)"), ""},
      {"barrier", std::regex(R"((bar|barrier)\..*)"), ""},
      {"commit", std::regex(R"(cp\.async\.bulk\.commit_group.*)"), ""},
      {"wait for group", std::regex(R"(cp\.async\.bulk\.wait_group.*)"), ""},
  };
  return all;
}

std::vector<std::string> lines_of_rings() {
  std::ifstream file(RADDLE_KERNEL_TESTS "/rings.ptx");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// The module's text with `kernel` alone, by lines: those of other kernels are empty.
std::vector<std::string> lines_of(const std::string& kernel) {
  std::vector<std::string> lines = lines_of_rings();
  bool wanted = true;
  for (std::string& line : lines) {
    if (line.find(".entry ") != std::string::npos)
      wanted = line.find(".entry " + kernel + "(") != std::string::npos;
    if (!wanted) line.clear();
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

/// A fence behind mbarrier.init. PTX asks for it, but libcu++ itself starts bulk copies without one
/// (cuda::memcpy_async behind init()), so the machine shows copies the object anyway.
bool is_fence_of_init(const std::vector<std::string>& lines, std::size_t fence) {
  static const std::regex kOrdering(R"(\s*(@\S+\s+)?(mbarrier|bar|barrier|fence|cp)\..*)");
  for (std::size_t i = fence; i-- > 0;)
    if (std::regex_match(lines[i], kOrdering)) return lines[i].find("mbarrier.init") != std::string::npos;
  return false;
}

std::vector<Loss> losses_of(const std::string& kernel) {
  const std::vector<std::string> lines = lines_of(kernel);
  std::vector<Loss> losses;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string code = std::regex_replace(lines[i], std::regex(R"(^\s+|\s*//.*$)"), "");
    for (const Losable& each : losable()) {
      if (!std::regex_match(code, each.pattern)) continue;
      if (each.what == std::string_view("fence") && is_fence_of_init(lines, i)) continue;
      std::vector<std::string> changed = lines;
      changed[i] = std::regex_replace(code, each.pattern, each.instead);
      losses.push_back({i + 1, each.what, code.substr(0, code.find_first_of(" \t;")), joined(changed)});
    }
  }
  return losses;
}

class LostWaits : public RingTest {
 protected:
  LostWaits() : RingTest(kEngines[0]) {}

  /// @returns under which asynchrony something was seen, and what; empty: nothing was
  std::string found(const std::string& text, const RingLaunch& launch) {
    using raddle::Asynchrony;
    const std::uint64_t seeds = std::getenv("RADDLE_TEST_ALL") != nullptr ? 1000 : 100;
    if (const std::string problem = problem_under({Asynchrony::Mode::lazy}, text, launch); !problem.empty())
      return "lazy: " + problem;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const std::string problem = problem_under({Asynchrony::Mode::random, seed}, text, launch);
      if (!problem.empty()) return fmt::format("random:{}: {}", seed, problem);
    }
    return "";
  }

  std::string problem_under(raddle::Asynchrony asynchrony, const std::string& text,
                            const RingLaunch& launch) {
    close();
    options_.shape = "tiny";
    options_.asynchrony = asynchrony;
    options_.time_limit = std::chrono::seconds(20);
    load_text(text);
    return problem_of(launch);
  }

  void check(const std::string& kernel, const RingLaunch& launch) {
    EXPECT_EQ(found(joined(lines_of(kernel)), launch), "") << kernel << " as it is";
    const std::vector<Loss> losses = losses_of(kernel);
    EXPECT_GE(losses.size(), 14u);
    for (const Loss& loss : losses) {
      const std::string problem = found(loss.text, launch);
      fmt::print("{:>4} {:<15} {:<57} {}\n", loss.line, loss.what, loss.instruction,
                 problem.substr(0, problem.find(" in kernel")));
      EXPECT_NE(problem, "") << "nothing shows that line " << loss.line << " is missing";
      EXPECT_EQ(problem.find("time limit"), std::string::npos) << problem;
    }
  }
};

// proves: T-16f, T-16g, T-16h
TEST_F(LostWaits, OfARing) { check("ring", {}); }
TEST_F(LostWaits, OfAMulticastRing) { check("multicast_ring", {2, 2}); }

}  // namespace
