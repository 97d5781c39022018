#include "base/http/http_target.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(HttpTarget, HasAPathAndAQuery) {
  const auto target = parse_http_target("/v1/runs/a%2Fb%20%C3%A4?after=3&names=x%2Cy+z&flag&after=4");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->path, "/v1/runs/a/b ä");
  EXPECT_EQ(target->raw_path, "/v1/runs/a%2Fb%20%C3%A4");
  const std::map<std::string, std::string> query = {{"after", "4"}, {"names", "x,y z"}, {"flag", ""}};
  EXPECT_EQ(target->query, query);
  EXPECT_EQ(parse_http_target("/a+b")->path, "/a+b");  // a plus is a plus but in queries
}

TEST(HttpTarget, TakesTheFormsOfProxies) {
  EXPECT_EQ(parse_http_target("http://host:80/a?b=c")->path, "/a");
  EXPECT_EQ(parse_http_target("http://host:80/a?b=c")->query.at("b"), "c");
  EXPECT_EQ(parse_http_target("https://host")->path, "/");
  EXPECT_EQ(parse_http_target("*")->path, "*");
  EXPECT_FALSE(parse_http_target("ftp://host/a").ok());
  EXPECT_FALSE(parse_http_target("host:80").ok());
  EXPECT_FALSE(parse_http_target("http://host?b=c").ok());
  EXPECT_FALSE(parse_http_target("").ok());
}

TEST(HttpTarget, RefusesWhatNoPathIs) {
  for (const char* path : {"/%", "/%4", "/%4g", "/%80", "/%c0%af", "/%ed%a0%80", "/%f4%90%80%80", "/a%00", "/%0a",
                           "/..", "/a/../b", "/%2e%2e/", "/%2E.", "/\\..\\"}) {
    EXPECT_FALSE(parse_http_target(path).ok()) << path;
  }
  EXPECT_FALSE(parse_http_target("/?a=%f").ok());
  EXPECT_FALSE(parse_http_target("/?%ff=1").ok());
}

TEST(HttpTarget, KnowsUtf8AndRequestIds) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
  EXPECT_FALSE(is_utf8("\xc3"));
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
  EXPECT_TRUE(is_request_id("aZ09_.-"));
  EXPECT_TRUE(is_request_id(std::string(64, 'x')));
  EXPECT_FALSE(is_request_id(std::string(65, 'x')));
  EXPECT_FALSE(is_request_id(""));
  EXPECT_FALSE(is_request_id("a b"));
  EXPECT_FALSE(is_request_id("a\"b"));
}

}  // namespace
}  // namespace kw
