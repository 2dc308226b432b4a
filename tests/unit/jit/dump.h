// What the engine says it makes of a kernel (RADDLE_DUMP), as text.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "jit/engine.h"
#include "ptx/parser.h"

namespace raddle::jit {

/// @param what  `ir`, or `optimised`
/// @param ptx   a module; its first kernel is compiled
inline std::string dump_of(const char* what, const std::string& ptx, EngineOptions options,
                           const exec::CompileOptions& launch) {
  auto module = ptx::parse(ptx);
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  options.to_be_read = true;
  auto engine = make_engine(options);
  setenv("RADDLE_DUMP", what, 1);
  ::testing::internal::CaptureStderr();
  const auto kernel = std::find_if(module->functions.begin(), module->functions.end(),
                                   [](const ptx::Function& function) { return function.is_entry; });
  auto code =
      engine->compile(*module, static_cast<ptx::FunctionId>(kernel - module->functions.begin()), launch);
  const std::string text = ::testing::internal::GetCapturedStderr();
  unsetenv("RADDLE_DUMP");
  EXPECT_TRUE(code.ok()) << code.error().to_string();
  return text;
}

}  // namespace raddle::jit
