#include "kernel_test.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "machine/tma/asynchrony.h"

constexpr auto kWindowed = raddle::Translation::windowed;
constexpr auto kModelled = raddle::Translation::modelled;
#ifdef RADDLE_TEST_JIT
const std::vector<EngineChoice> kEngines = {{"interp", ""},
                                            {"jit", ""},
                                            {"jit", "avx2"},
                                            {"jit", "sse42"},
                                            {"jit", "", "", kWindowed},
                                            {"interp", "", "", kModelled},
                                            {"jit", "", "", kModelled},
                                            {"jit", "", "quick"},
                                            {"jit", "avx2", "quick"}};
#else  // with sanitizers, under which modelled spaces take too much memory; test_attacks has them
const std::vector<EngineChoice> kEngines = {{"interp", ""}};
#endif

namespace {

/// A code cache of this process: kernels of several tests are compiled once.
const std::string& code_cache() {
  struct Directory {
    std::string path = (std::filesystem::temp_directory_path() / "raddle_kernels_XXXXXX").string();
    Directory() {
      if (mkdtemp(path.data()) == nullptr) path = "off";
    }
    ~Directory() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Directory directory;
  return directory.path;
}

}  // namespace

bool takes_turns(const EngineChoice& engine) {
  return *engine.simd != '\0' || engine.translation != raddle::Translation::direct;
}

std::vector<EngineChoice> engines_of(std::string_view suite) {
  const std::string filter = GTEST_FLAG_GET(filter);
  const bool names_tests = !filter.starts_with('*') && !filter.starts_with('-');
  if (names_tests || std::getenv("RADDLE_TEST_EXHAUSTIVE")) return kEngines;
  const char* seed = std::getenv("RADDLE_TEST_SEED");
  std::size_t turn = std::hash<std::string_view>()(suite) + (seed ? std::strtoull(seed, nullptr, 0) : 1);
  std::vector<EngineChoice> some;
  const auto count = static_cast<std::size_t>(std::count_if(kEngines.begin(), kEngines.end(), takes_turns));
  for (const EngineChoice& engine : kEngines)
    if (!takes_turns(engine) || turn++ % count == 0) some.push_back(engine);
  return some;
}

std::string engine_name(const testing::TestParamInfo<EngineChoice>& info) {
  return std::string(info.param.engine) + info.param.simd + info.param.tier +
         (info.param.translation == kWindowed   ? "windowed"
          : info.param.translation == kModelled ? "modelled"
                                                : "");
}

void KernelTestBase::open() {
  options_.engine = engine_choice_.engine;
  options_.simd = engine_choice_.simd;
  options_.tier = engine_choice_.tier;
  options_.translation = engine_choice_.translation;
  if (options_.translation == kWindowed) options_.window_bytes = 1ull << 40;
  options_.pin = false;
  if (options_.code_cache.empty()) options_.code_cache = code_cache();
  if (options_.time_limit.count() == 0) options_.time_limit = std::chrono::seconds(60);
  // To try all tests with late copies: those that show what eager ones hide, or which thread is first, fail.
  if (const char* wanted = getenv("RADDLE_ASYNC");
      wanted && options_.asynchrony.mode == raddle::Asynchrony::Mode::eager)
    options_.asynchrony = *raddle::machine::parse_asynchrony(wanted);
  // Modelled spaces know eager copies only.
  if (options_.asynchrony.mode != raddle::Asynchrony::Mode::eager && options_.translation == kModelled)
    options_.translation = raddle::Translation::direct;
  options_.output = [this](std::string_view text) { printed_ += text; };
  auto opened = raddle::Device::open(options_);
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  device_.emplace(std::move(*opened));
}

void KernelTestBase::load(const std::string& file) {
  auto loaded = device().load_file(std::string(RADDLE_KERNEL_TESTS "/") + file);
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  module_.reset();
  module_.emplace(std::move(*loaded));
  file_ = file;
}

void KernelTestBase::load_text(const std::string& text) {
  if (text == file_) return;
  auto loaded = device().load(text);
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  module_.reset();
  module_.emplace(std::move(*loaded));
  file_ = text;
}
