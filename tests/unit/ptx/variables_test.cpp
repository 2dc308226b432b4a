// Declarations: spaces, sizes, alignment, initialisers, relocations, formals.
#include <cstring>

#include "ptx_test.h"
#include "unit/source_directory.h"

namespace raddle::ptx::test {
namespace {

const Variable& variable(const Module& m, std::string_view name) {
  const Variable* v = m.find_variable(name);
  EXPECT_NE(v, nullptr) << name;
  return *v;
}

template <class T>
std::vector<T> values(const Variable& v) {
  std::vector<T> out(v.size / sizeof(T));
  std::memcpy(out.data(), v.initial.data(), v.initial.size());
  return out;
}

Module variables_file() {
  return must_parse(read_file(std::filesystem::path(source_directory()) / "tests/data/ptx/variables.ptx"));
}

// proves: K-17a
TEST(Variables, Initialisers) {
  const Module m = variables_file();
  EXPECT_EQ(values<std::uint32_t>(variable(m, "counter")), std::vector<std::uint32_t>{5});
  EXPECT_EQ(values<float>(variable(m, "corners")), (std::vector<float>{1, 2, 3, 4, 5, 0, 0, 0}));
  EXPECT_EQ(values<std::int32_t>(variable(m, "table")), (std::vector<std::int32_t>{1, 2, 0, -4, 5, 6}));
  EXPECT_EQ(values<double>(variable(m, "half")), std::vector<double>{0.5});
  EXPECT_EQ(values<std::uint16_t>(variable(m, "halves")), (std::vector<std::uint16_t>{7, 19, 16}));
  const Variable& text = variable(m, "text");
  EXPECT_EQ(text.size, 6u);
  EXPECT_EQ(text.dimensions, std::vector<std::uint64_t>{6});
  EXPECT_EQ(std::memcmp(text.initial.data(), "Hello", 6), 0);
}

// proves: K-17a
TEST(Variables, AddressesInInitialisers) {
  const Module m = variables_file();
  const auto& where = variable(m, "where").relocations;
  ASSERT_EQ(where.size(), 3u);
  EXPECT_EQ(m.variables[where[0].index].name, "counter");
  EXPECT_FALSE(where[0].generic);
  EXPECT_EQ(m.variables[where[1].index].name, "primes");
  EXPECT_TRUE(where[1].generic);
  EXPECT_EQ(where[1].addend, 8);
  EXPECT_EQ(where[1].offset, 8u);
  EXPECT_TRUE(where[2].is_function);
  EXPECT_EQ(m.functions[where[2].index].name, "helper");
  const auto& ahead = variable(m, "ahead").relocations;
  ASSERT_EQ(ahead.size(), 1u);
  EXPECT_EQ(m.variables[ahead[0].index].name, "later");
  EXPECT_EQ(ahead[0].addend, 4);
  const auto& bytes = variable(m, "bytes").relocations;
  ASSERT_EQ(bytes.size(), 4u);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(bytes[i].offset, i);
    EXPECT_EQ(bytes[i].size, 1u);
    EXPECT_EQ(bytes[i].mask_shift, 8 * i);
  }
}

TEST(Variables, LinkageAndAttributes) {
  const Module m = variables_file();
  EXPECT_TRUE(variable(m, "managed_counter").managed);
  EXPECT_EQ(variable(m, "halves").linkage, Linkage::weak);
  EXPECT_EQ(variable(m, "elsewhere").linkage, Linkage::extern_);
  EXPECT_EQ(variable(m, "pooled").linkage, Linkage::common);
  EXPECT_EQ(variable(m, "dynamic").size, 0u);
  EXPECT_EQ(variable(m, "dynamic").align, 16u);
  EXPECT_EQ(variable(m, "corners").vector, 4u);
  EXPECT_EQ(variable(m, "corners").align, 16u);
}

TEST(Variables, ParameterOffsets) {
  const Module m = variables_file();
  const Function& f = function_of(m, "variables");
  ASSERT_EQ(f.parameters.size(), 3u);
  EXPECT_EQ(m.variables[f.parameters[0]].offset, 0u);
  EXPECT_EQ(m.variables[f.parameters[1]].offset, 24u);
  EXPECT_EQ(m.variables[f.parameters[2]].offset, 32u);
  EXPECT_EQ(f.parameter_bytes, 40u);
}

TEST(Variables, ExternThenDefinition) {
  const Module m =
      must_parse(module_text(".extern .global .u32 x; .visible .global .u32 x = 7; .extern .global .u32 x;"));
  ASSERT_EQ(m.variables.size(), 1u);
  EXPECT_EQ(m.variables[0].linkage, Linkage::visible);
  EXPECT_EQ(m.variables[0].initial.size(), 4u);
}

TEST(Variables, DeclaratorsInOneStatement) {
  const Module m = must_parse(module_text(".global .align 8 .u32 a, b[3], c = 4;"));
  ASSERT_EQ(m.variables.size(), 3u);
  EXPECT_EQ(m.variables[1].size, 12u);
  EXPECT_EQ(m.variables[2].align, 8u);
}

TEST(Variables, OpaqueHandles) {
  const std::string text =
      ".version 8.0\n.target sm_90, texmode_independent\n.global .texref t; .global .samplerref s = { "
      "addr_mode_1 = "
      "clamp_to_border, filter_mode = linear }; .tex .u64 old;";
  const Module m = must_parse(text);
  EXPECT_EQ(m.variables[0].type, Type::texref);
  EXPECT_EQ(m.variables[2].type, Type::texref);
  EXPECT_EQ(m.variables[2].space, Space::global);
  EXPECT_EQ(m.variables[1].type, Type::samplerref);
  EXPECT_TRUE(m.variables[1].sampler.linear);
  EXPECT_EQ(m.variables[1].sampler.address[1], SamplerSettings::AddressMode::clamp_to_border);
  EXPECT_EQ(print(must_parse(print(m))), print(m));
  EXPECT_EQ(errors_of(module_text(".global .samplerref s;")),
            "4:21: 's': a .samplerref needs '.target ..., texmode_independent'\n");
}

TEST(Variables, Errors) {
  const auto error = [](std::string_view text) { return errors_of(module_text(text)); };
  EXPECT_EQ(error(".global .u32 x[2] = {1, 2, 3};"), "4:28: more initial values than 'x' has elements\n");
  EXPECT_EQ(error(".global .u32 x[2][2] = {{1, 2, 3}};"),
            "4:32: more initial values than 'x' has elements\n");
  EXPECT_EQ(error(".global .u32 x = {{1}};"), "4:19: braces nested deeper than 'x' has dimensions\n");
  EXPECT_EQ(error(".global .u16 x = y; .global .u32 y;"),
            "4:18: the address of 'y' needs an element of 4 or 8 bytes, not 2\n");
  EXPECT_EQ(error(".global .u64 x = nowhere;"), "4:18: 'nowhere' is not declared\n");
  EXPECT_EQ(error(".global .u32 x; .global .u64 x;"), "4:30: 'x' is already declared in line 4\n");
  EXPECT_EQ(error(".global .align 3 .u32 x;"), "4:16: an alignment must be a power of two, not 3\n");
  EXPECT_EQ(error(".global .pred x;"), "4:15: expected another type than .pred outside .reg, found 'x'\n");
  EXPECT_EQ(error(".global x;"), "4:9: expected a type such as .b32 in the declaration, found 'x'\n");
  EXPECT_EQ(error(".global .u32 x[4][];"), "4:19: only the first dimension of an array may be left open\n");
  EXPECT_EQ(error(".shared .u32 x = 1;"),
            "4:18: only .global and .const variables may have an initialiser\n");
  EXPECT_EQ(error(".reg .u32 x;"), "4:11: register 'x' is declared outside a function\n");
  EXPECT_EQ(error(".global .u64 x = 0xf0(x);"), "4:18: a mask must select one byte, such as 0xff00\n");
  EXPECT_NE(error(".global .u32 x[4294967296][4294967296];").find("larger than"), std::string::npos);
}

}  // namespace
}  // namespace raddle::ptx::test
