// The same programs under each translation: what they leave in memory is the same, byte by byte.
#include <cstdlib>
#include <map>

#include "example.h"
#include "kernel_test.h"
#include "runner.h"

namespace {

using raddle::Translation;

/// Those whose memory is the same in every run, and holds no addresses. One in so many, by RADDLE_TEST_SEED;
/// all with RADDLE_TEST_EXHAUSTIVE.
std::vector<examples::Example> translated_programs(std::size_t one_in) {
  constexpr auto kSmall = examples::Size::small;
  const char* const seed = std::getenv("RADDLE_TEST_SEED");
  if (std::getenv("RADDLE_TEST_EXHAUSTIVE") != nullptr) one_in = 1;
  std::size_t turn = seed != nullptr ? std::strtoull(seed, nullptr, 0) : 1;
  std::vector<examples::Example> some;
  for (const auto make :
       {examples::make_elementwise_examples, examples::make_matrix_examples,
        examples::make_collective_examples, examples::make_grid_examples, examples::make_irregular_examples,
        examples::make_number_examples, examples::make_cooperating_examples,
        examples::make_asynchronous_examples, examples::make_tensor_core_examples})
    for (examples::Example& one : make(kSmall, 256)) {
      const bool has_addresses = one.name == "grouped_gemm";  // tensor maps
      if (!has_addresses && turn++ % one_in == 0) some.push_back(std::move(one));
    }
  return some;
}

class Translations : public testing::TestWithParam<const char*> {
 protected:
  /// The buffers of every program after its run, by name.
  static std::map<std::string, std::vector<examples::Bytes>> memory_under(Translation translation) {
    raddle::DeviceOptions options;
    options.engine = GetParam();
    options.tier = std::string(GetParam()) == "jit" ? "quick" : "";
    options.translation = translation;
    options.code_cache = "off";
    options.pin = false;
    options.deterministic = 1;  // atomics come in one order, whatever the time
    auto device = raddle::Device::open(options);
    EXPECT_TRUE(device.ok()) << device.error().to_string();
    std::map<std::string, std::vector<examples::Bytes>> memory;
    const bool is_interpreted = std::string(GetParam()) == "interp";
    for (const examples::Example& one : translated_programs(is_interpreted ? 3 : 4)) {
      auto module = device->load_file(std::string(RADDLE_EXAMPLES_DIR "/kernels/") + one.file + ".ptx");
      EXPECT_TRUE(module.ok()) << module.error().to_string();
      auto results = examples::results_of(one, *device, *module);
      EXPECT_TRUE(results.ok()) << one.name << ": " << results.error().to_string();
      if (results.ok()) memory[one.name] = std::move(*results);
    }
    return memory;
  }
};

TEST_P(Translations, LeaveTheSameMemory) {
  const auto direct = memory_under(Translation::direct);
  EXPECT_GE(direct.size(), 4u);
  for (const Translation translation : {Translation::windowed, Translation::modelled})
    for (const auto& [name, buffers] : memory_under(translation))
      EXPECT_TRUE(buffers == direct.at(name)) << name << ", " << static_cast<int>(translation);
}

#ifdef RADDLE_TEST_JIT
INSTANTIATE_TEST_SUITE_P(Engines, Translations, testing::Values("interp", "jit"));
#else  // modelled spaces take too much memory with sanitizers
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Translations);
#endif

}  // namespace
