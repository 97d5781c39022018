#include "agents/endpoint/endpoint_name.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace kw {
namespace {

// An environment variable for as long as a test needs it.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { before_.empty() ? ::unsetenv(name_) : ::setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

HttpUrl url(const char* text) { return parse_http_url(text).value(); }

TEST(EndpointName, UrlAndModel) {
  EXPECT_TRUE(looks_like_endpoint("http://127.0.0.1:8000#tiny"));
  EXPECT_FALSE(looks_like_endpoint("tiny"));
  EXPECT_FALSE(looks_like_endpoint("runs/http"));
  const auto plain = parse_endpoint_name("http://127.0.0.1:8000#tiny");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->url.path, "/v1");
  EXPECT_EQ(plain->model, "tiny");
  const auto other = parse_endpoint_name("https://host/api/v2#org/model:free");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->url.path, "/api/v2");
  EXPECT_EQ(other->model, "org/model:free");
  EXPECT_EQ(to_string(*other), "https://host/api/v2#org/model:free");
  EXPECT_EQ(parse_endpoint_name("unix:/tmp/s#a")->url.path, "/v1");
}

TEST(EndpointName, SaysWhatIsMissing) {
  for (const char* name : {"http://host", "http://host#", "http://host#a b", "https://#a", "http://me:pw@host#a"})
    EXPECT_FALSE(parse_endpoint_name(name).ok()) << name;
  EXPECT_NE(to_string(parse_endpoint_name("http://host/v1").error()).find("http://host/v1#NAME"), std::string::npos);
}

TEST(EndpointKey, ComesFromTheEnvironment) {
  const Variable first("KERNELWRIGHT_API_KEY", nullptr);
  const Variable second("OPENAI_API_KEY", nullptr);
  EXPECT_EQ(endpoint_key(url("https://host"))->value, "");
  const Variable openai("OPENAI_API_KEY", "sk-1");
  EXPECT_EQ(endpoint_key(url("https://host"))->value, "sk-1");
  const Variable ours("KERNELWRIGHT_API_KEY", "sk-2");
  EXPECT_EQ(endpoint_key(url("https://host"))->value, "sk-2");
  EXPECT_EQ(endpoint_key(url("http://127.0.0.1"))->value, "sk-2");
  EXPECT_EQ(endpoint_key(url("unix:/a"))->value, "sk-2");
}

TEST(EndpointKey, IsNotShownToTheNetwork) {
  const Variable ours("KERNELWRIGHT_API_KEY", "sk-2");
  const auto key = endpoint_key(url("http://10.0.0.1"));
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(key->value, "");
  EXPECT_TRUE(key->withheld);
}

TEST(EndpointKey, AKeyHasNoLineEnds) {
  const Variable ours("KERNELWRIGHT_API_KEY", "sk-2\r\nX-Evil: 1");
  const auto key = endpoint_key(url("https://host"));
  ASSERT_FALSE(key.ok());
  EXPECT_EQ(to_string(key.error()).find("sk-2"), std::string::npos);
}

}  // namespace
}  // namespace kw
