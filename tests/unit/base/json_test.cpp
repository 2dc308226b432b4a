// Strict JSON: errors with line and column, paths of values, keys that are not known.
#include "base/json.h"

#include <gtest/gtest.h>

namespace raddle {
namespace {

std::string complaint(const std::string& text) {
  const auto parsed = parse_json(text, "x.json");
  return parsed.ok() ? "" : parsed.error().to_string();
}

TEST(Json, SyntaxErrorsHaveAPlace) {
  EXPECT_EQ(complaint("{\"a\": 1}"), "");
  EXPECT_EQ(complaint("{\n  \"a\": ,\n}").substr(0, 11), "x.json:2:8:");
  EXPECT_NE(complaint(""), "");
  EXPECT_NE(complaint("{} {}"), "");
  EXPECT_NE(complaint("{\"a\": 1, \"a\": 2}").find("'a' is given twice"), std::string::npos);
  EXPECT_NE(complaint(std::string(100, '[') + std::string(100, ']')).find("nested"), std::string::npos);
  EXPECT_EQ(complaint("[{\"a\": 1}, {\"a\": 2}]"), "");
}

TEST(Json, ValuesSayTheirPath) {
  const auto document =
      parse_json(R"({"a": {"b": [1, -2, 1e3, "x", 2.5, 18446744073709551615]}, "c": true})", "x.json");
  ASSERT_TRUE(document.ok());
  const JsonValue root(*document);
  const auto list = *root.member("a")->member("b")->elements(1, 10);
  EXPECT_EQ(*list[0].whole(0, 10), 1u);
  EXPECT_EQ(list[1].whole(0, 10).error().message, "$.a.b[1]: -2 is no whole number from 0 to 10");
  EXPECT_EQ(*list[1].integer(-2, 10), -2);
  EXPECT_EQ(*list[2].whole(0, 1000), 1000u);
  EXPECT_FALSE(list[2].whole(0, 999).ok());
  EXPECT_FALSE(list[3].whole(0, 999).ok());
  EXPECT_FALSE(list[4].whole(0, 999).ok());
  EXPECT_EQ(*list[4].number(0, 3), 2.5);
  EXPECT_FALSE(list[5].integer(0, 5).ok());
  EXPECT_EQ(*list[5].whole(0, ~0ull), ~0ull);
  EXPECT_EQ(*list[3].text(), "x");
  EXPECT_TRUE(*root.member("c")->flag());
  EXPECT_EQ(root.member("a")->elements(0, 1).error().message, "$.a: must be an array");
  EXPECT_EQ(root.member("a")->member("b")->elements(7, 7).error().message,
            "$.a.b: has 6 elements, must have 7");
  EXPECT_EQ(root.member("d").error().message, "$: 'd' is missing");
  EXPECT_EQ(root.has_only({"a"}).error().message, "$: no 'c' is known here; there are a");
  EXPECT_TRUE(root.has_only({"a", "c"}).ok());
}

}  // namespace
}  // namespace raddle
