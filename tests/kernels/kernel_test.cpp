#include "kernel_test.h"

#ifdef RADDLE_TEST_JIT
const std::vector<EngineChoice> kEngines = {
    {"interp", ""}, {"jit", ""}, {"jit", "avx2"}, {"jit", "sse42"}, {"jit", "", "quick"}};
#else
const std::vector<EngineChoice> kEngines = {{"interp", ""}};
#endif

std::string engine_name(const testing::TestParamInfo<EngineChoice>& info) {
  return std::string(info.param.engine) + info.param.simd + info.param.tier;
}

void KernelTestBase::open() {
  options_.engine = engine_choice_.engine;
  options_.simd = engine_choice_.simd;
  options_.tier = engine_choice_.tier;
  options_.pin = false;
  if (options_.time_limit.count() == 0) options_.time_limit = std::chrono::seconds(60);
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
