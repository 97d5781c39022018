#include "base/http/http_url.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

HttpUrl url(const std::string& text) {
  const auto parsed = parse_http_url(text);
  EXPECT_TRUE(parsed.ok()) << text << ": " << to_string(parsed.error());
  return parsed.ok() ? *parsed : HttpUrl{};
}

TEST(HttpUrl, SaysWhereAServerIs) {
  const HttpUrl plain = url("http://127.0.0.1:8000/v1/");
  EXPECT_FALSE(plain.tls);
  EXPECT_EQ(plain.host, "127.0.0.1");
  EXPECT_EQ(plain.port, 8000);
  EXPECT_EQ(plain.path, "/v1");
  EXPECT_EQ(host_header(plain), "127.0.0.1:8000");
  EXPECT_EQ(to_string(plain), "http://127.0.0.1:8000/v1");

  const HttpUrl secure = url("https://API.example.com/a/b");
  EXPECT_TRUE(secure.tls);
  EXPECT_EQ(secure.host, "api.example.com");
  EXPECT_EQ(secure.port, 443);
  EXPECT_EQ(host_header(secure), "api.example.com");

  const HttpUrl six = url("http://[::1]:80");
  EXPECT_EQ(six.host, "::1");
  EXPECT_EQ(six.path, "");
  EXPECT_EQ(host_header(six), "[::1]");
  EXPECT_EQ(url("http://[fe80::1]:81/v1").port, 81);

  const HttpUrl local = url("unix:/tmp/kw.sock");
  EXPECT_EQ(local.socket, "/tmp/kw.sock");
  EXPECT_EQ(to_string(local), "unix:/tmp/kw.sock");
}

TEST(HttpUrl, WhatStaysOnThisMachine) {
  EXPECT_TRUE(is_this_machine(url("http://localhost:1")));
  EXPECT_TRUE(is_this_machine(url("http://127.0.0.1")));
  EXPECT_TRUE(is_this_machine(url("unix:/a")));
  EXPECT_FALSE(is_this_machine(url("http://10.0.0.1")));
  EXPECT_FALSE(is_this_machine(url("http://1270.0.0.1")));
}

TEST(HttpUrl, RefusesWhatIsNoUrl) {
  for (const std::string text : {"", "tiny", "ftp://a", "http://", "http://:80", "http://a:", "http://a:0",
                                 "http://a:99999", "http://a:8x", "http://a b", "http://a/v1?key=1", "http://[::1",
                                 "http://[::1]x", "http://a\r\nX: y", "unix:", "http://a/\x7f", "http://a/\\b"})
    EXPECT_FALSE(parse_http_url(text).ok()) << text;
  EXPECT_FALSE(parse_http_url("unix:/" + std::string(200, 'a')).ok());
  EXPECT_FALSE(parse_http_url("http://" + std::string(5000, 'a')).ok());
}

TEST(HttpUrl, APasswordIsRefusedAndNotRepeated) {
  const auto parsed = parse_http_url("https://me:sk-secret@host/v1");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(to_string(parsed.error()).find("sk-secret"), std::string::npos);
}

}  // namespace
}  // namespace kw
