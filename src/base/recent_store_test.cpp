#include "base/recent_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace kw {
namespace {

struct Kept {
  explicit Kept(std::uint64_t bytes) : held(bytes) {}
  std::uint64_t kept_bytes() const { return held; }
  std::atomic<std::uint64_t> held;
};

std::shared_ptr<Kept> ask(RecentStore<Kept>& store, const std::string& key, std::uint64_t bytes = 1) {
  return store.find_or_make(key, [&] { return std::make_shared<Kept>(bytes); });
}

// Whether a value is there, by the number that a new one would get.
bool has(RecentStore<Kept>& store, const std::string& key) { return ask(store, key, 99)->held != 99; }

TEST(RecentStore, ForgetsWhatNobodyAskedForLongest) {
  RecentStore<Kept> store({3, 1000});
  for (const char* key : {"a", "b", "c"}) ask(store, key);
  ask(store, "a");
  ask(store, "d");
  EXPECT_EQ(store.size(), 3u);
  EXPECT_TRUE(has(store, "a"));
  EXPECT_TRUE(has(store, "c"));
  EXPECT_TRUE(has(store, "d"));
  EXPECT_FALSE(has(store, "b"));
}

TEST(RecentStore, CountsBytesAsTheyAreNow) {
  RecentStore<Kept> store({100, 10});
  const auto held = ask(store, "a", 2);
  ask(store, "b", 2);
  ask(store, "c", 2);
  EXPECT_EQ(store.bytes(), 6u);
  held->held = 9;
  store.trim();
  EXPECT_EQ(store.bytes(), 11u) << "a is held and c is the newest: b alone could go";
  EXPECT_EQ(store.size(), 2u);
}

TEST(RecentStore, TheNewestStaysHoweverLargeItIs) {
  RecentStore<Kept> store({100, 10});
  ask(store, "a", 5);
  ask(store, "b", 50);
  store.trim();
  EXPECT_EQ(store.size(), 1u);
  EXPECT_TRUE(has(store, "b"));
}

TEST(RecentStore, WhatIsHeldIsTheSameForEverybody) {
  RecentStore<Kept> store({2, 1000});
  const auto held = ask(store, "held");
  for (int i = 0; i < 10; ++i) ask(store, std::to_string(i));
  EXPECT_EQ(ask(store, "held"), held);
  EXPECT_LE(store.size(), 3u);
}

TEST(RecentStore, ManyThreadsAskAtATime) {
  RecentStore<Kept> store({8, 1000});
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&store, t] {
      for (int i = 0; i < 2000; ++i) EXPECT_EQ(ask(store, std::to_string((i * (t + 1)) % 37))->held, 1u);
    });
  threads.clear();
  store.trim();
  EXPECT_LE(store.size(), 8u);
}

}  // namespace
}  // namespace kw
