#include "base/bounded_json.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(BoundedJson, Bounds) {
  EXPECT_TRUE(parse_bounded_json(R"({"a": [1, {"b": null}]})").ok());
  EXPECT_FALSE(parse_bounded_json(R"({"a": [1, {"b": null}]})", {.max_depth = 2}).ok());
  EXPECT_FALSE(parse_bounded_json("1").ok());
  EXPECT_FALSE(parse_bounded_json("").ok());
  const auto json = *parse_bounded_json(R"({"i": 5, "f": 1.5, "big": 18446744073709551615, "n": null, "s": "t"})");
  EXPECT_EQ(*json_integer(json, "i", 0, 5), 5);
  EXPECT_FALSE(json_integer(json, "i", 0, 4).ok());
  EXPECT_FALSE(json_integer(json, "f", 0, 4).ok());
  EXPECT_FALSE(json_integer(json, "big", -1, INT64_MAX).ok());
  EXPECT_FALSE(json_integer(json, "n", 0, 4).ok());
  EXPECT_EQ(*json_integer_or(json, "n", 0, 4, 3), 3);
  EXPECT_FALSE(json_bool_or(json, "s", true).ok());
  EXPECT_FALSE(json_number_or(json, "s", 1).ok());
}

TEST(BoundedJson, EachBoundIsOneOfItsOwn) {
  const std::string text = R"({"list": [1, 2, 3], "object": {"a": 1, "b": 2}})";  // 8 values
  const JsonBounds any{.min_bytes_per_value = 1};
  EXPECT_TRUE(parse_bounded_ordered_json(text, any).ok());
  for (const bool enough : {true, false}) {
    const std::size_t less = enough ? 0 : 1;
    EXPECT_EQ(parse_bounded_ordered_json(text, {.max_values = 8 - less}).ok(), enough);
    EXPECT_EQ(parse_bounded_ordered_json(text, {.max_members = 2 - less}).ok(), enough);
    EXPECT_EQ(parse_bounded_ordered_json(text, {.max_elements = 3 - less}).ok(), enough);
    EXPECT_EQ(parse_bounded_ordered_json(text, {.max_depth = enough ? 2 : 1}).ok(), enough);
  }
  EXPECT_FALSE(parse_bounded_ordered_json(R"({"a": 1, "a": 1})", any).ok());
  EXPECT_FALSE(parse_bounded_ordered_json(R"({"a": 1e999})", any).ok());
}

TEST(BoundedJson, TheOrderOfMembersStaysWhereItIsAskedFor) {
  const std::string text = R"({"z":1,"a":[{"y":null,"b":true}]})";
  EXPECT_EQ(parse_bounded_ordered_json(text)->dump(), text);
  EXPECT_EQ(parse_bounded_json(text)->dump(), R"({"a":[{"b":true,"y":null}],"z":1})");
}

}  // namespace
}  // namespace kw
