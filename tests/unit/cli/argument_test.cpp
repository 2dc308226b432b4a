// The command line's little languages: element types, fills, arguments, extents.
#include "cli/argument.h"

#include <gtest/gtest.h>

#include <cstring>

namespace raddle::cli {
namespace {

using isa::Type;

template <class T>
std::vector<T> values(const Argument& argument) {
  std::vector<T> result(argument.array.bytes.size() / sizeof(T));
  std::memcpy(result.data(), argument.array.bytes.data(), argument.array.bytes.size());
  return result;
}

TEST(Argument, Scalars) {
  auto argument = parse_argument("i32:-42", 0);
  ASSERT_TRUE(argument.ok());
  EXPECT_FALSE(argument->is_buffer);
  EXPECT_EQ(values<std::int32_t>(*argument), std::vector<std::int32_t>{-42});
  EXPECT_EQ(values<float>(*parse_argument("f32:1.5", 0)), std::vector<float>{1.5f});
  EXPECT_EQ(values<std::uint64_t>(*parse_argument("u64:0xffffffffffffffff", 0)),
            std::vector<std::uint64_t>{~0ull});
  EXPECT_EQ(values<std::uint16_t>(*parse_argument("f16:1", 0)), std::vector<std::uint16_t>{0x3c00});
  EXPECT_EQ(values<std::uint16_t>(*parse_argument("bf16:-2", 0)), std::vector<std::uint16_t>{0xc000});
}

TEST(Argument, ScalarsOutOfRangeAreErrors) {
  for (const char* text : {"i8:128", "i8:-129", "u8:256", "u8:-1", "u32:4294967296", "i32:", "i32:x",
                           "i32:1x", "i32:--1", "f32:", "f32:one", "u64:99999999999999999999", "tf32:1",
                           "f32x2:1", "pred:1", "nothing:1", "i32", "i32:1:2", "i32:1=2"})
    EXPECT_FALSE(parse_argument(text, 0).ok()) << text;
  for (const char* text :
       {"i8:127", "i8:-128", "u8:255", "u32:4294967295", "b32:-1", "f32:inf", "f64:nan", "f32:-1e-3"})
    EXPECT_TRUE(parse_argument(text, 0).ok()) << text;
}

TEST(Argument, Buffers) {
  auto zeros = parse_argument("buf:u8:1K", 0);
  ASSERT_TRUE(zeros.ok());
  EXPECT_TRUE(zeros->is_buffer);
  EXPECT_EQ(values<std::uint8_t>(*zeros), std::vector<std::uint8_t>(1024, 0));
  EXPECT_EQ(values<float>(*parse_argument("buf:f32:4=iota", 0)), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(values<std::int16_t>(*parse_argument("buf:i16:2=-7", 0)), (std::vector<std::int16_t>{-7, -7}));
}

TEST(Argument, BuffersBeyondTheHostsMemoryAreErrors) {
  for (const char* text : {"buf:f32:1048576G", "buf:u8:17179869183G", "buf:f64:18446744073709551615"}) {
    auto argument = parse_argument(text, 0);
    ASSERT_FALSE(argument.ok()) << text;
    EXPECT_EQ(argument.error().code, ErrorCode::out_of_memory) << argument.error().message;
  }
}

TEST(Argument, RandomIsTheSameForASeedAndInTheUnitInterval) {
  auto one = values<float>(*parse_argument("buf:f32:1000=random:5", 0));
  EXPECT_EQ(one, values<float>(*parse_argument("buf:f32:1000=random:5", 3)));
  EXPECT_NE(one, values<float>(*parse_argument("buf:f32:1000=random:6", 0)));
  EXPECT_NE(values<float>(*parse_argument("buf:f32:1000=random", 0)),
            values<float>(*parse_argument("buf:f32:1000=random", 1)));
  double sum = 0;
  for (float value : one) {
    EXPECT_GE(value, 0);
    EXPECT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 1000, 0.5, 0.05);
}

TEST(Argument, MalformedBuffersAreErrors) {
  for (const char* text :
       {"buf", "buf:f32", "buf:f32:", "buf:f32:-1", "buf:f32:1T", "buf:f32:4=", "buf:f32:4=seven",
        "buf:f32=zeros", "buf:f32:4:4", "buf:f32:99999999G", "buf:f32=missing.npy", "buf:u8:2=300"}) {
    bool accepted = parse_argument(text, 0).ok();
    EXPECT_EQ(accepted, std::string(text) == "buf:f32:4=") << text;  // an empty fill means zeros
  }
}

TEST(Argument, Extents) {
  EXPECT_EQ(*parse_extents("64", "grid"), (std::array<std::uint32_t, 3>{64, 1, 1}));
  EXPECT_EQ(*parse_extents("64,2,3", "grid"), (std::array<std::uint32_t, 3>{64, 2, 3}));
  EXPECT_EQ(*parse_extents("4x2", "grid"), (std::array<std::uint32_t, 3>{4, 2, 1}));
  for (const char* text : {"", "0", "1,0", "1,2,3,4", "a", "-1", "1,", "5000000000"})
    EXPECT_FALSE(parse_extents(text, "grid").ok()) << text;
}

TEST(Argument, ExpectationsNameBuffers) {
  std::vector<Argument> arguments{*parse_argument("buf:f32:3", 0), *parse_argument("i32:1", 1)};
  auto indexed = parse_indexed("0=iota", arguments, "--expect");
  ASSERT_TRUE(indexed.ok());
  auto expected = expected_array(*indexed, arguments[0]);
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(first_difference(Type::f32, arguments[0].array.bytes, expected->bytes, 0),
            "element 1 is 0, expected 1 (2 of 3 elements differ)");
  for (const char* text : {"1=zeros", "2=zeros", "zeros", "x=zeros"})
    EXPECT_FALSE(parse_indexed(text, arguments, "--expect").ok()) << text;
}

TEST(Compare, ToleranceIsRelativeAboveOneAndAbsoluteBelow) {
  auto differs = [](float actual, float expected, double tolerance) {
    std::vector<std::byte> a(4), e(4);
    std::memcpy(a.data(), &actual, 4);
    std::memcpy(e.data(), &expected, 4);
    return !first_difference(Type::f32, a, e, tolerance).empty();
  };
  EXPECT_FALSE(differs(100.5f, 100, 0.01));
  EXPECT_TRUE(differs(102, 100, 0.01));
  EXPECT_FALSE(differs(0.005f, 0, 0.01));
  EXPECT_TRUE(differs(0.02f, 0, 0.01));
  EXPECT_FALSE(differs(NAN, NAN, 0));
  EXPECT_TRUE(differs(NAN, 0, 1e30));
  EXPECT_TRUE(differs(INFINITY, 1, 1e30));
  EXPECT_FALSE(differs(INFINITY, INFINITY, 0));
}

TEST(Npy, RoundTrip) {
  Array array{Type::f32, {2, 3}, std::vector<std::byte>(24, std::byte{7})};
  std::string contents = format_npy(array);
  EXPECT_EQ((contents.size() - 24) % 64, 0u);
  auto read = parse_npy(contents, "a.npy", Type::f32);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->shape, array.shape);
  EXPECT_EQ(read->bytes, array.bytes);
  EXPECT_TRUE(parse_npy(contents, "a.npy", Type::b32).ok());
  EXPECT_FALSE(parse_npy(contents, "a.npy", Type::s32).ok());
  EXPECT_FALSE(parse_npy(contents, "a.npy", Type::f64).ok());
}

TEST(Npy, HeaderAsNumPyWritesIt) {
  Array array{Type::s64, {5}, std::vector<std::byte>(40)};
  EXPECT_NE(format_npy(array).find("{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }"),
            std::string::npos);
  EXPECT_NE(format_npy({Type::u8, {}, std::vector<std::byte>(1)})
                .find("'|u1', 'fortran_order': False, 'shape': (), }"),
            std::string::npos);
}

TEST(Npy, MalformedFilesAreErrors) {
  std::string good = format_npy({Type::f32, {4}, std::vector<std::byte>(16)});
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(parse_npy(good.substr(0, length), "a.npy", Type::f32).ok()) << length;
  std::string fortran = good;
  fortran.replace(fortran.find("False"), 5, "True ");
  EXPECT_FALSE(parse_npy(fortran, "a.npy", Type::f32).ok());
  std::string huge = good;
  huge.replace(huge.find("(4,)"), 4, "(4,9");
  EXPECT_FALSE(parse_npy(huge, "a.npy", Type::f32).ok());
}

}  // namespace
}  // namespace raddle::cli
