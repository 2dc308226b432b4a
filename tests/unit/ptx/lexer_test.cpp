// Tokens: their kinds, positions and number values.
#include "ptx/lexer.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>

namespace raddle::ptx {
namespace {

Token only(std::string_view text) {
  Lexer lexer(text);
  const Token token = lexer.next();
  EXPECT_EQ(lexer.next().kind, TokenKind::end) << text;
  return token;
}

TEST(Lexer, KindsAndPositions) {
  Lexer lexer("// comment\n  add.s32 %r1,\n /* two\nlines */ .reg \"text\" $L__1:");
  Token t = lexer.next();
  EXPECT_EQ(t.kind, TokenKind::identifier);
  EXPECT_EQ(t.at.line, 2u);
  EXPECT_EQ(t.at.column, 3u);
  lexer.extend_opcode(t);
  EXPECT_EQ(t.text, "add.s32");
  EXPECT_EQ(lexer.next().text, "%r1");
  EXPECT_TRUE(lexer.next().is(','));
  t = lexer.next();
  EXPECT_TRUE(t.is_directive("reg"));
  EXPECT_EQ(t.at.line, 4u);
  EXPECT_EQ(t.at.column, 10u);
  EXPECT_EQ(lexer.next().text, "text");
  EXPECT_EQ(lexer.next().text, "$L__1");
  EXPECT_TRUE(lexer.colon_follows());
}

TEST(Lexer, OpcodesKeepDoubleColons) {
  Lexer lexer("cp.async.bulk.shared::cluster.L2::cache_hint [x];");
  Token t = lexer.next();
  lexer.extend_opcode(t);
  EXPECT_EQ(t.text, "cp.async.bulk.shared::cluster.L2::cache_hint");
}

TEST(Lexer, LookingForAColonMovesNothing) {
  Lexer lexer("call  (x)");
  Token t = lexer.next();
  EXPECT_FALSE(lexer.colon_follows());
  lexer.extend_opcode(t);
  EXPECT_EQ(t.text, "call");
}

TEST(Lexer, Integers) {
  EXPECT_EQ(only("42").value.bits, 42u);
  EXPECT_EQ(only("0x1fU").value.bits, 31u);
  EXPECT_EQ(only("0x1fU").value.kind, Constant::Kind::u64);
  EXPECT_EQ(only("0b1011").value.bits, 11u);
  EXPECT_EQ(only("0777").value.bits, 511u);
  EXPECT_EQ(only("0").value.bits, 0u);
  EXPECT_EQ(only("9223372036854775807").value.kind, Constant::Kind::s64);
  EXPECT_EQ(only("18446744073709551615").value.kind, Constant::Kind::u64);
  EXPECT_EQ(only("18446744073709551616").kind, TokenKind::bad);
  EXPECT_EQ(only("089").kind, TokenKind::bad);
  EXPECT_EQ(only("0x").kind, TokenKind::bad);
  EXPECT_EQ(only("12abc").kind, TokenKind::bad);
}

TEST(Lexer, Floats) {
  EXPECT_EQ(only("0f3F800000").value.kind, Constant::Kind::f32);
  EXPECT_EQ(only("0f3F800000").value.bits, 0x3f800000u);
  EXPECT_EQ(only("0D3ff0000000000000").value.bits, 0x3ff0000000000000u);
  EXPECT_EQ(std::bit_cast<double>(only("1.5e3").value.bits), 1500.0);
  EXPECT_EQ(std::bit_cast<double>(only(".5").value.bits), 0.5);
  EXPECT_EQ(std::bit_cast<double>(only("1E-2").value.bits), 0.01);
  EXPECT_EQ(only("0f3F80000").kind, TokenKind::bad);
  EXPECT_EQ(only("0f3F8000000").kind, TokenKind::bad);
}

TEST(Lexer, UnclosedThingsAreBad) {
  EXPECT_EQ(Lexer("\"abc").next().kind, TokenKind::bad);
  EXPECT_EQ(Lexer("\"abc\\").next().kind, TokenKind::bad);
  EXPECT_EQ(Lexer("/* abc").next().kind, TokenKind::bad);
  EXPECT_EQ(Lexer("\x01").next().kind, TokenKind::bad);
  EXPECT_EQ(Lexer("\xff").next().kind, TokenKind::bad);
}

TEST(Lexer, TrailingNulsEndTheText) {
  const std::string text("ret;\0\0\0", 7);
  Lexer lexer(text);
  EXPECT_EQ(lexer.next().text, "ret");
  EXPECT_TRUE(lexer.next().is(';'));
  EXPECT_EQ(lexer.next().kind, TokenKind::end);
}

}  // namespace
}  // namespace raddle::ptx
