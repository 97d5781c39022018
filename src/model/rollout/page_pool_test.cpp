#include "model/rollout/page_pool.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace kw {
namespace {

TEST(PagePool, CountsOwners) {
  PagePool pool(2);
  const auto a = pool.take(), b = pool.take();
  ASSERT_TRUE(a && b);
  EXPECT_NE(*a, *b);
  EXPECT_FALSE(pool.take().has_value());
  pool.share(*a);
  pool.release(*a);
  EXPECT_EQ(pool.free(), 0);
  pool.release(*a);
  EXPECT_EQ(pool.free(), 1);
  EXPECT_EQ(pool.take(), a);
}

TEST(PagePool, NeverGivesAPageTwice) {
  PagePool pool(20);
  std::map<std::int32_t, int> owners;
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const auto chosen =
        owners.empty() ? owners.end() : std::next(owners.begin(), random.integer(0, std::ssize(owners) - 1));
    const auto action = random.integer(0, 3);
    if (action <= 1) {
      const auto page = pool.take();
      ASSERT_EQ(page.has_value(), owners.size() < 20);
      if (page) {
        ASSERT_TRUE(owners.emplace(*page, 1).second);
      }
    } else if (chosen != owners.end() && action == 2) {
      pool.share(chosen->first);
      ++chosen->second;
    } else if (chosen != owners.end()) {
      pool.release(chosen->first);
      if (--chosen->second == 0) owners.erase(chosen);
    }
    ASSERT_EQ(pool.used(), std::ssize(owners));
    for (const auto& [page, count] : owners) ASSERT_EQ(pool.owners(page), count);
  }
}

}  // namespace
}  // namespace kw
