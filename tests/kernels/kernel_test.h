// Base of the whole-kernel tests: every test runs on the interpreter and on the JIT at several vector widths,
// through the public API, and compares with values that C++ computed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "raddle/raddle.h"

inline constexpr std::uint64_t kNowhere = 0x500000;  ///< nothing is mapped so low

struct EngineChoice {
  const char* engine;
  const char* simd;
  const char* tier = "";
  raddle::Translation translation = raddle::Translation::direct;
};

class KernelTestBase : public testing::Test {
 protected:
  explicit KernelTestBase(const EngineChoice& engine) : engine_choice_(engine) {}

  raddle::DeviceOptions options_;  ///< change before the first use of device()
  std::string printed_;            ///< what kernels printed

  bool translated() const { return engine_choice_.translation == raddle::Translation::modelled; }
  bool interpreted() const { return std::string(engine_choice_.engine) == "interp"; }
  /// Faults of gathers and scatters name the thread, not its warp: they are instructions of the host, or are
  /// made lane by lane.
  bool tells_lanes_of_gathers() const {
    const std::string simd = engine_choice_.simd;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    return interpreted() || translated() || (wide && simd != "avx2" && simd != "sse42");
  }

  raddle::Device& device() {
    if (!device_) open();
    return *device_;
  }

  /// A kernel of tests/kernels/<file>.
  raddle::Kernel kernel(const std::string& file, const char* name) {
    if (file != file_) load(file);
    auto found = module_->kernel(name);
    if (!found.ok()) ADD_FAILURE() << found.error().to_string();
    return *found;
  }

  raddle::Module& module() { return *module_; }

  /// Makes module() that of a text.
  void load_text(const std::string& text);

  /// A new device at the next use: a fault is sticky. Buffers must be gone.
  void close() {
    module_.reset();
    file_.clear();
    device_.reset();
  }

  template <class... Arguments>
  raddle::Result<raddle::LaunchReport> try_run(raddle::Kernel kernel, const raddle::LaunchConfig& config,
                                               const Arguments&... arguments) {
    auto launch = kernel.launch(config, arguments...);
    if (!launch.ok()) return launch.error();
    return launch->wait();
  }

  /// Launches, waits, and fails the test on any error.
  template <class... Arguments>
  raddle::LaunchReport run(raddle::Kernel kernel, const raddle::LaunchConfig& config,
                           const Arguments&... arguments) {
    auto report = try_run(std::move(kernel), config, arguments...);
    if (!report.ok()) {
      ADD_FAILURE() << report.error().to_string();
      return {};
    }
    EXPECT_EQ(report->engine, engine_choice_.engine);
    return *report;
  }

  template <class T>
  raddle::Buffer<T> buffer(const std::vector<T>& contents) {
    auto made = device().buffer(contents);
    if (!made.ok()) ADD_FAILURE() << made.error().to_string();
    return std::move(*made);
  }

  template <class T>
  std::vector<T> contents(const raddle::Buffer<T>& from) {
    std::vector<T> result(from.size());
    auto read = from.read(result);
    EXPECT_TRUE(read.ok()) << read.error().to_string();
    return result;
  }

 private:
  void open();
  void load(const std::string& file);

  const EngineChoice engine_choice_;
  std::string file_;  ///< or the text, whose module it is
  std::optional<raddle::Device> device_;
  std::optional<raddle::Module> module_;
};

class KernelTest : public KernelTestBase, public testing::WithParamInterface<EngineChoice> {
 protected:
  KernelTest() : KernelTestBase(GetParam()) {}
};

extern const std::vector<EngineChoice> kEngines;
/// Windowed code and vector widths that the host would not choose.
bool takes_turns(const EngineChoice& engine);
/// Those that a suite's tests run on: of those that take turns one, which
/// RADDLE_TEST_SEED shifts; all of them with RADDLE_TEST_EXHAUSTIVE, or where --gtest_filter names tests.
std::vector<EngineChoice> engines_of(std::string_view suite);
std::string engine_name(const testing::TestParamInfo<EngineChoice>& info);

/// Runs the suite on every engine, vector widths and windowed code in turn.
#define ON_EVERY_ENGINE(suite) \
  INSTANTIATE_TEST_SUITE_P(Engines, suite, testing::ValuesIn(engines_of(#suite)), engine_name)
