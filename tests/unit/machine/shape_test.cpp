// Machine shapes: presets, files as people write them, what is wrong with a file, and that what is written
// reads back equal.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "machine/shape/shape_file.h"

namespace raddle::machine {
namespace {

MachineShape read(const std::string& text) {
  Result<MachineShape> shape = read_shape(text, "test.json");
  EXPECT_TRUE(shape.ok()) << (shape.ok() ? "" : shape.error().to_string());
  return shape.ok() ? *shape : MachineShape{};
}

std::vector<std::uint32_t> sms_of(const MachineShape& shape, Level level) {
  std::vector<std::uint32_t> counts;
  for (const Domain& domain : shape.domains(level)) counts.push_back(domain.sm_count);
  return counts;
}

using Counts = std::vector<std::uint32_t>;

// proves: W-1c, W-1d, W-1e, W-1f, W-1g
TEST(MachineShape, PresetsHaveTheSizesOfTheRealParts) {
  const MachineShape h200 = *preset_shape("h200", 2);
  EXPECT_EQ(h200.sm_count(), 132u);
  EXPECT_EQ(sms_of(h200, Level::gpc), (Counts{18, 18, 16, 16, 16, 16, 16, 16}));
  EXPECT_EQ(h200.domains(Level::cpc).size(), 24u);
  EXPECT_EQ(h200.domains(Level::tpc).size(), 66u);
  EXPECT_NE(h200.notes.find("inferred"), std::string::npos);
  EXPECT_EQ(h200.capability, 90u);
  EXPECT_EQ(h200.memory_bytes, 141ull << 30);
  const MachineShape a100 = *preset_shape("a100", 2);
  EXPECT_EQ(a100.sm_count(), 108u);
  EXPECT_EQ(a100.sm.shared_bytes, 164u << 10);
  EXPECT_EQ(a100.capability, 80u);
  EXPECT_EQ(sms_of(*preset_shape("tiny", 2), Level::gpc), (Counts{2}));
  EXPECT_EQ(preset_shape("host", 5)->sm_count(), 5u);
  EXPECT_EQ(preset_shape("host", 0)->sm_count(), 1u);
  auto wrong = preset_shape("h300", 2);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("h200"), std::string::npos);
}

// proves: W-1a, W-1b, W-1c, W-1h, W-2a
TEST(ShapeFile, TakesEveryLevelAndUnlikeSiblings) {
  const MachineShape shape = read(R"({
    "name": "two unlike GPUs", "capability": "9.0", "memory_bytes": "2G",
    "sm": {"cta_slots": 16, "shared_bytes": "100K", "shared_per_block": 101376},
    "gpus": [
      {"ugpus": [{"gpcs": 2, "cpcs": [{"tpcs": [2, 2, 1]}, {"count": 2, "tpcs": 3}]}, {"gpcs": 1, "tpcs": 4}]},
      {"cpcs": [3, 2]}
    ],
    "sms": 2
  })");
  EXPECT_EQ(shape.domains(Level::set).size(), 1u);
  EXPECT_EQ(sms_of(shape, Level::gpu), (Counts{5 + 12 + 5 + 12 + 8, 10}));
  EXPECT_EQ(sms_of(shape, Level::ugpu), (Counts{34, 8, 10}));
  EXPECT_EQ(sms_of(shape, Level::gpc), (Counts{17, 17, 8, 10}));
  EXPECT_EQ(sms_of(shape, Level::cpc), (Counts{5, 6, 6, 5, 6, 6, 8, 6, 4}));
  EXPECT_EQ(shape.domains(Level::tpc)[2].sm_count, 1u);
  EXPECT_EQ(shape.domain_of(Level::gpc, 34), 2u);
  EXPECT_EQ(shape.domains(Level::gpc)[3].parent, 2u);  // the second GPU's only uGPU
  EXPECT_EQ(shape.sm.cta_slots, 16u);
  EXPECT_EQ(shape.sm.shared_per_block, 101376u);
  EXPECT_EQ(shape.sm.warps, SmLimits{}.warps);
  EXPECT_EQ(shape.memory_bytes, 2ull << 30);
}

// proves: W-1h
TEST(ShapeFile, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* text;   // members after the name
    const char* error;  // part of the message
  };
  const Case cases[] = {
      {R"("gpcs": 2)", "$: 'sms' is missing"},
      {R"("gpcs": [{"tpcs": 2, "sms": 1}, {"tpcs": 2}])", "$.gpcs[1]: 'sms' is missing"},
      {R"("sms": 0)", "$.sms: 0 is no whole number from 1 to"},
      {R"("sms": -3)", "$.sms: -3 is no whole"},
      {R"("sms": "2")", "$.sms: \"2\" is no whole"},
      {R"("sms": [1, 2])", "$.sms: must be a number"},
      {R"("tpcs": [], "sms": 1)", "$.tpcs: has 0 elements"},
      {R"("tpcs": [2, 0])", "$.tpcs[1]: 0 is no whole"},
      {R"("tpcs": [2, 2], "sms": 2)", "$.sms: no part of the machine is described by it"},
      {R"("gpcs": [{"sms": 1}], "gpus": [{"gpcs": 2, "sms": 1}])", "$.gpcs: no part"},
      {R"("gpcs": [4, 4], "sms": 2)", "$.gpcs[0]: must be an object, such as {\"tpcs\": 9}"},
      {R"("cpcs": [{"gpcs": 2, "sms": 1}])", "$.cpcs[0]: a cpc has no 'gpcs'"},
      {R"("cpcs": [{"tpc": 2, "sms": 1}])", "$.cpcs[0]: no 'tpc' is known here"},
      {R"("cpcs": [{"tpcs": 2, "count": 0, "sms": 1}])", "$.cpcs[0].count: 0 is no whole"},
      {R"("sms": 2, "smz": 3)", "$: no 'smz' is known here"},
      {R"("gpcs": 300, "tpcs": 300, "sms": 2)", "$.sms: with it the machine has more than 65536 SMs"},
      {R"("sms": 2, "sm": {"threads": 0})", "$.sm.threads: 0 is no whole number from 32"},
      {R"("sms": 2, "sm": {"warp": 4})", "$.sm: no 'warp' is known here; there are threads, warps"},
      {R"("sms": 2, "sm": 4)", "$.sm: must be an object"},
      {R"("sms": 2, "sm": {"threads": 512})",
       "$.sm: a block of 1024 threads (threads_per_block) does not fit 512"},
      {R"("sms": 2, "sm": {"warps": 8})", "does not fit 8 warps"},
      {R"("sms": 2, "sm": {"shared_per_block": "228K"})", "$.sm: a block of 233472 bytes (shared_per_block)"},
      {R"("sms": 2, "sm": {"shared_bytes": "2T"})", "$.sm.shared_bytes: '2T' is no count"},
      {R"("sms": 2, "sm": {"shared_bytes": "2G"})", "$.sm.shared_bytes: 2G is not from 1K to 1G"},
      {R"("sms": 2, "capability": 90)", "$.capability: must be a string"},
      {R"("sms": 2, "capability": "G")", "$.capability: must be a compute capability"},
      {R"("sms": 2, "capability": "9.")", "$.capability: must be a compute capability"},
      {R"("sms": 2, "capability": "90")", "$.capability: must be a compute capability"},
      {R"("sms": 2, "memory_bytes": "guest")", "$.memory_bytes: 'guest' is no count"},
      {R"("sms": 2, "memory_bytes": null)", "$.memory_bytes: null is no whole"},
      {R"("sms": 2, "notes": "a\u0000b")", "$.notes: must be"},
      {R"("sms": 2, "sms": 3)", "'sms' is given twice"},
      {R"("sms": 2,)", "no JSON"},
  };
  for (const Case& wrong : cases) {
    const std::string text = fmt::format("{{\"name\": \"x\", {}}}", wrong.text);
    const auto shape = read_shape(text, "x.json");
    ASSERT_FALSE(shape.ok()) << text;
    const std::string message = shape.error().to_string();
    EXPECT_NE(message.find(wrong.error), std::string::npos) << text << "\n  " << message;
    EXPECT_EQ(message.rfind("x.json:", 0), 0u) << message;
  }
  EXPECT_NE(read_shape("{\"sms\": 1}", "x").error().message.find("$: 'name' is missing"), std::string::npos);
  EXPECT_NE(read_shape("[]", "x").error().message.find("$: must be an object"), std::string::npos);
}

TEST(ShapeFile, PresetsReadBackEqual) {
  for (const std::string& name : preset_names()) {
    const MachineShape preset = *preset_shape(name, 6);
    const std::string text = shape_text(preset);
    EXPECT_EQ(read(text), preset) << text;
    EXPECT_EQ(read(shape_document(preset).dump()), preset);
  }
}

using Random = std::mt19937_64;

/// Parts of a level, and their parts: mostly like their siblings, often only one.
void add_random(MachineShape& shape, unsigned level, Random& random) {
  if (level == kLevels - 1) return shape.add_sms(1 + random() % 3);
  const auto parts = 1 + (random() % 2) * (random() % 3);
  const Random like = random;
  for (unsigned part = 0; part < parts; ++part) {
    if (random() % 3 != 0) random = like;
    shape.open(static_cast<Level>(level));
    add_random(shape, level + 1, random);
    shape.close(static_cast<Level>(level));
  }
}

// proves: W-1b, W-1h
TEST(ShapeFile, RandomShapesReadBackEqual) {
  Random random(1);
  std::size_t unlike = 0;
  for (int round = 0; round < 2000; ++round) {
    MachineShape shape;
    shape.name = fmt::format("random \"{}\"", round);
    shape.capability = 50 + random() % 70;
    shape.sm.registers = 1024 + random() % 100'000;
    shape.sm.cluster_slots = 1 + random() % 64;
    shape.sm.shared_bytes = (229u << 10) + random() % 5000;
    shape.memory_bytes = random() % 2 != 0 ? ~0ull : (1 << 20) + random() % (1ull << 50);
    shape.cluster_ids_per_gpc = random() % 100;
    add_random(shape, 0, random);
    const Counts gpcs = sms_of(shape, Level::gpc);
    unlike += std::count(gpcs.begin(), gpcs.end(), gpcs[0]) != static_cast<std::ptrdiff_t>(gpcs.size());
    ASSERT_EQ(read(shape_text(shape)), shape) << shape_text(shape);
  }
  EXPECT_GT(unlike, 200u);  // the property was tried on unlike GPCs
}

// proves: W-1h
TEST(ShapeFile, IsFoundByItsPath) {
  const std::string path = ::testing::TempDir() + "raddle_shape_test.json";
  std::ofstream(path) << R"({"name": "mine", "tpcs": 3, "sms": 2})";
  const auto found = find_shape(path);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->name, "mine");
  EXPECT_EQ(found->sm_count(), 6u);
  std::remove(path.c_str());
  EXPECT_EQ(find_shape(path).error().code, ErrorCode::io);
  EXPECT_EQ(find_shape("tiny")->name, "tiny");
  EXPECT_EQ(find_shape("no such").error().code, ErrorCode::not_found);
}

// proves: W-13c, W-13d
TEST(MachineShape, SmallShapesSayThatClustersOf8AreNotPortableToThem) {
  EXPECT_EQ(preset_shape("h200", 2)->largest_portable_cluster(), 8u);
  EXPECT_EQ(preset_shape("h200", 2)->warning(), "");
  const MachineShape tiny = *preset_shape("tiny", 2);
  EXPECT_EQ(tiny.largest_portable_cluster(), 2u);
  EXPECT_NE(tiny.warning().find("no GPC of 'tiny' has 4 TPCs"), std::string::npos);
  EXPECT_NE(tiny.warning().find("clusters of 2 always fit"), std::string::npos);
  // One GPC of 4 TPCs is enough, whatever the others are; many small GPCs are not.
  EXPECT_EQ(read(R"({"name": "x", "gpcs": [{"tpcs": 1}, {"tpcs": 4}], "sms": 1})").largest_portable_cluster(),
            8u);
  EXPECT_EQ(read(R"({"name": "x", "gpcs": 9, "tpcs": 3, "sms": 2})").largest_portable_cluster(), 6u);
  EXPECT_EQ(read(R"({"name": "x", "gpcs": 2, "cpcs": 2, "tpcs": 2, "sms": 1})").largest_portable_cluster(),
            8u);
}

}  // namespace
}  // namespace raddle::machine
