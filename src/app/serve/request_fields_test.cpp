#include "app/serve/request_fields.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

HttpRequest with_body(std::string body) {
  HttpRequest request;
  request.body = std::move(body);
  return request;
}

TEST(RequestFields, ReadsMembersAndDefaults) {
  RequestFields fields(with_body(R"({"a": "x", "n": 3, "f": 0.5, "b": true, "none": null, "list": ["p", "q"]})"));
  EXPECT_EQ(fields.text("a"), "x");
  EXPECT_EQ(fields.integer("n", 0, 1, 5), 3);
  EXPECT_EQ(fields.number("f", 0, 0, 1), 0.5);
  EXPECT_TRUE(fields.flag("b", false));
  EXPECT_EQ(fields.text("none", "default"), "default");
  EXPECT_EQ(fields.integer("missing", 7, 1, 9), 7);
  EXPECT_EQ(fields.texts("list", 4), (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(fields.texts("a", 4), std::vector<std::string>{"x"});
  EXPECT_FALSE(fields.problem());
}

TEST(RequestFields, TheFirstProblemIsNamed) {
  RequestFields fields(with_body(R"({"n": 99, "a": 1})"));
  fields.integer("n", 0, 1, 5);
  fields.text("a");
  ASSERT_TRUE(fields.problem());
  EXPECT_EQ(fields.problem()->status, 400);
  EXPECT_NE(fields.problem()->body.find("'n' must be an integer from 1 to 5"), std::string::npos);
  EXPECT_NE(fields.problem()->body.find(R"("param":"n")"), std::string::npos);
}

TEST(RequestFields, HostileBodiesAreProblems) {
  std::string deep(100'000, '[');
  for (const std::string& body : {std::string(), std::string("[]"), std::string("{"), std::string(R"({"a":1,"a":2})"),
                                  std::string("\xff{}"), R"({"a":)" + deep, std::string("null"), std::string("{}x")}) {
    const RequestFields fields(with_body(body));
    ASSERT_TRUE(fields.problem()) << body.substr(0, 40);
    EXPECT_EQ(fields.problem()->status, 400);
  }
}

TEST(RequestFields, NumbersOfOtherTypesAndSizesAreRefused) {
  for (const char* value : {"1.5", "\"3\"", "true", "18446744073709551615", "-1", "1e400", "{}"}) {
    RequestFields fields(with_body(std::string(R"({"n": )") + value + "}"));
    fields.integer("n", 0, 0, 10);
    EXPECT_TRUE(fields.problem()) << value;
  }
}

TEST(RequestFields, OtherContentTypesAreRefused) {
  HttpRequest request = with_body("{}");
  request.headers["content-type"] = "text/plain";
  EXPECT_EQ(RequestFields(request).problem()->status, 415);
  request.headers["content-type"] = "application/json; charset=utf-8";
  EXPECT_FALSE(RequestFields(request).problem());
}

}  // namespace
}  // namespace kw
