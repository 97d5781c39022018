#include "base/http/api_keys.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/hash.h"

namespace kw {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ApiKeys, AreFoundByTheirHash) {
  const TemporaryFolder folder;
  const std::string first = ApiKeys::make_key(), second = ApiKeys::make_key();
  EXPECT_EQ(first.size(), 46u);
  EXPECT_NE(first, second);
  const std::string text = "# the service's keys\n\n" + ApiKeys::line_for("alice", first) + "\n  " +
                           ApiKeys::line_for("bob@lab", second, {600, 16}) + " # the lab's\n";
  EXPECT_EQ(text.find(first), std::string::npos);
  ASSERT_TRUE(write_file_atomic(folder.path() / "keys", text).ok());
  const auto keys = ApiKeys::load(folder.path() / "keys");
  ASSERT_TRUE(keys.ok()) << to_string(keys.error());
  EXPECT_EQ(keys->size(), 2u);
  EXPECT_EQ(keys->name(*keys->check(first)), "alice");
  EXPECT_EQ(keys->name(*keys->check(second)), "bob@lab");
  EXPECT_FALSE(keys->check(""));
  EXPECT_FALSE(keys->check(first + "x"));
  EXPECT_FALSE(keys->check(sha256_hex(first)));  // the file's reader has no key
}

TEST(ApiKeys, SayWhatIsWrongWithTheFile) {
  const std::string digest = sha256_hex("a key");
  for (const std::string& line :
       {std::string("alice"), "alice " + digest.substr(1), "alice " + digest + " many", "alice " + digest + " -1",
        "alice " + digest + " 5 9999999", "al/ice " + digest, "alice A" + digest.substr(1)}) {
    const auto keys = ApiKeys::parse("# first\n" + line + "\n", "keys");
    ASSERT_FALSE(keys.ok()) << line;
    EXPECT_EQ(keys.error().where.line, 2) << line;
  }
  EXPECT_FALSE(ApiKeys::parse("# nothing\n", "keys").ok());
  EXPECT_FALSE(ApiKeys::parse("a " + digest + "\na " + digest + "\n", "keys").ok());
  EXPECT_FALSE(ApiKeys::load("/nonexistent/keys").ok());
}

TEST(ApiKeys, RequestsOfAMinuteComeBackEvenly) {
  const auto keys = ApiKeys::parse(ApiKeys::line_for("alice", "key", {60, 0}), "keys");
  ASSERT_TRUE(keys.ok());
  ApiKeys::Clock::time_point now{};
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(keys->admit(0, now).admitted) << i;
    keys->release(0);
  }
  const ApiKeys::Admission refused = keys->admit(0, now);
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.retry_after_s, 1);
  EXPECT_FALSE(keys->admit(0, now + milliseconds(900)).admitted);
  EXPECT_TRUE(keys->admit(0, now + milliseconds(1100)).admitted);
  EXPECT_FALSE(keys->admit(0, now + milliseconds(1200)).admitted);
  // However long nobody asked, there is one minute's worth.
  now += seconds(100'000);
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(keys->admit(0, now).admitted);
  EXPECT_FALSE(keys->admit(0, now).admitted);
  EXPECT_FALSE(keys->admit(0, now - seconds(50)).admitted);  // a clock that another thread read earlier
}

TEST(ApiKeys, RetryAfterIsWhenTheNextOneFits) {
  const auto keys = ApiKeys::parse(ApiKeys::line_for("alice", "key", {2, 0}), "keys");
  ASSERT_TRUE(keys.ok());
  const ApiKeys::Clock::time_point now{};
  EXPECT_TRUE(keys->admit(0, now).admitted);
  EXPECT_TRUE(keys->admit(0, now).admitted);
  EXPECT_EQ(keys->admit(0, now).retry_after_s, 30);
  EXPECT_EQ(keys->admit(0, now + seconds(20)).retry_after_s, 10);
  EXPECT_TRUE(keys->admit(0, now + seconds(31)).admitted);
}

TEST(ApiKeys, RequestsInFlightAreCounted) {
  const auto keys = ApiKeys::parse(ApiKeys::line_for("alice", "key", {0, 2}), "keys");
  ASSERT_TRUE(keys.ok());
  EXPECT_TRUE(keys->admit(0).admitted);
  EXPECT_TRUE(keys->admit(0).admitted);
  EXPECT_FALSE(keys->admit(0).admitted);
  keys->release(0);
  EXPECT_TRUE(keys->admit(0).admitted);
  EXPECT_FALSE(keys->admit(0).admitted);
}

}  // namespace
}  // namespace kw
