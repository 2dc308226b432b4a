// Shared by the tests of src/ptx: modules around a piece of text, files, and the first error as text.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ptx/parser.h"
#include "unit/source_directory.h"

namespace raddle::ptx::test {

inline std::string module_text(std::string_view text) {
  return fmt::format(".version 9.0\n.target sm_90a\n.address_size 64\n{}", text);
}

/// A kernel around statements; they start at line 7. %r, %rd, %f, %fd, %p, %rs registers and some variables
/// are there.
inline std::string kernel_text(std::string_view body) {
  return module_text(
      fmt::format(".global .u32 g;\n.entry k(.param .u64 p, .param .u32 n) {{ .shared .u32 s[4]; .reg .pred "
                  "%p<9>; .reg .b16 %rs<9>; .reg .b32 "
                  "%r<20>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>;\n\n{}\n}}\n",
                  body));
}
inline constexpr unsigned kFirstBodyLine = 7;

inline Module must_parse(const std::string& text) {
  std::vector<Error> errors;
  auto module = parse(text, "test.ptx", &errors);
  for (const Error& error : errors) ADD_FAILURE() << error.to_string();
  return module.ok() ? std::move(*module) : Module{};
}

/// All errors of a text, one per line, as "line:column: message".
inline std::string errors_of(const std::string& text) {
  std::vector<Error> errors;
  const auto module = parse(text, "test.ptx", &errors);
  EXPECT_EQ(module.ok(), errors.empty());
  std::string out;
  for (const Error& e : errors) out += fmt::format("{}:{}: {}\n", e.where.line, e.where.column, e.message);
  return out;
}

inline const Function& function_of(const Module& module, std::string_view name) {
  const Function* function = module.find_function(name);
  static const Function kMissing;
  EXPECT_NE(function, nullptr) << name;
  return function ? *function : kMissing;
}

inline FunctionId id_of(const Module& m, std::string_view name) {
  return static_cast<FunctionId>(&function_of(m, name) - m.functions.data());
}

inline std::string print_instruction(const Module& module, const Function& function, std::size_t i) {
  return print(module, function, function.instructions.at(i));
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Every .ptx of tests/data/ptx and of the examples.
inline std::vector<std::filesystem::path> input_files() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path root = source_directory();
  for (const auto& folder : {root / "tests/data/ptx", root / "examples"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace raddle::ptx::test
