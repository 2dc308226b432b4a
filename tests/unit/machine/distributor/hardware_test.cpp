// The distributor beside an H200's: how many clusters of a size are resident at once, and which SMs they take
// (tests/hardware/probes/placement.cu, its answers in tests/golden/h200_placement.txt).
#include <fstream>
#include <sstream>

#include "distributor_fixture.h"
#include "machine/shape/shape_file.h"
#include "unit/source_directory.h"

namespace raddle::machine::testing {
namespace {

/// What the file says of one launch.
struct Seen {
  std::uint32_t block = 0, shared = 0, cluster = 0, most = 0;
  std::vector<std::uint32_t> sms;  ///< by CTA
};

std::string golden(const char* name) { return source_directory() + "/tests/golden/" + name; }

std::vector<Seen> seen(const std::string& kind) {
  std::ifstream file(golden("h200_placement.txt"));
  std::vector<Seen> all;
  for (std::string line; std::getline(file, line);) {
    Seen one;
    int error = 0;
    if (kind == "most" &&
        std::sscanf(line.c_str(), "most active clusters of %u blocks of %u threads with %u bytes: %d %u",
                    &one.cluster, &one.block, &one.shared, &error, &one.most) == 5) {
      EXPECT_EQ(error, 0) << line;
      all.push_back(one);
    }
    std::uint32_t grid = 0;
    if (kind == "sm" && std::sscanf(line.c_str(), "sm grid %u block %u shared %u cluster %u:", &grid,
                                    &one.block, &one.shared, &one.cluster) == 4) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::uint32_t sm; words >> sm;) one.sms.push_back(sm);
      EXPECT_EQ(one.sms.size(), grid) << line;
      all.push_back(one);
    }
  }
  return all;
}

/// The H200's numbers of our SMs: it counts TPC by TPC over the GPCs, lone TPCs last.
std::vector<std::uint32_t> numbers_of(const MachineShape& shape) {
  const auto gpcs = shape.domains(Level::gpc);
  std::vector<std::uint32_t> numbers(shape.sm_count());
  std::uint32_t next = 0;
  const auto give = [&](bool lone) {
    for (std::uint32_t tpc = 0; tpc < 9; ++tpc)
      for (const Domain& gpc : gpcs)
        if ((gpc.sm_count == 2) == lone && 2 * tpc < gpc.sm_count)
          for (const std::uint32_t half : {0u, 1u}) numbers[gpc.first_sm + 2 * tpc + half] = next++;
  };
  give(false), give(true);
  EXPECT_EQ(next, shape.sm_count());
  return numbers;
}

class Hardware : public DistributorTest {
 protected:
  void SetUp() override {
    auto shape = find_shape(source_directory() + "/examples/shapes/h200_measured.json");
    ASSERT_TRUE(shape.ok()) << shape.error().to_string();
    measured = std::move(*shape);
  }
  /// Clusters that are resident once nothing more fits.
  std::vector<std::vector<std::uint32_t>> resident(const Seen& launch) {
    make(measured);
    const CtaNeeds needs{
        .threads = launch.block, .warps = launch.block / 32, .shared_bytes = launch.shared + 1024};
    GridKind kind = clusters_of(launch.cluster);
    kind.mode = DistributionMode::multicast;
    add(std::uint64_t{launch.cluster} * 4096, needs, kind);
    distribute();
    std::vector<std::vector<std::uint32_t>> clusters;
    for (const Cta& cta : sink_.ctas) {
      if (cta.index % launch.cluster == 0) clusters.emplace_back();
      clusters.back().push_back(cta.sm);
    }
    sink_ = {};
    return clusters;
  }
  MachineShape measured;
};

TEST_F(Hardware, AsManyClustersAreResidentAsOnAnH200) {
  const auto launches = seen("most");
  EXPECT_EQ(launches.size(), 6u * 4 * 8);
  for (const Seen& launch : launches)
    EXPECT_EQ(resident(launch).size(), launch.most)
        << launch.cluster << " CTAs of " << launch.block << " threads, " << launch.shared << " bytes";
}

/// Which SMs make a cluster together, where an SM holds one CTA. Sizes are even: of odd ones an H200 makes
/// clusters from both halves of what TPCs have left, Raddle keeps whole TPCs together first (W-6c).
TEST_F(Hardware, ClustersTakeTheSmsThatTheyTakeOnAnH200) {
  const std::vector<std::uint32_t> numbers = numbers_of(measured);
  unsigned compared = 0;
  for (const Seen& launch : seen("sm")) {
    if (launch.shared < 200 << 10 || launch.cluster % 2 != 0) continue;
    std::set<std::set<std::uint32_t>> ours, theirs;
    for (const auto& cluster : resident(launch)) {
      std::set<std::uint32_t> sms;
      for (const std::uint32_t sm : cluster) sms.insert(numbers[sm]);
      ours.insert(sms);
    }
    for (std::size_t i = 0; i < ours.size(); ++i)  // the first that were resident there
      theirs.insert({launch.sms.begin() + static_cast<std::ptrdiff_t>(i * launch.cluster),
                     launch.sms.begin() + static_cast<std::ptrdiff_t>((i + 1) * launch.cluster)});
    EXPECT_EQ(ours, theirs) << launch.cluster;
    ++compared;
  }
  EXPECT_EQ(compared, 6u);
}

}  // namespace
}  // namespace raddle::machine::testing
