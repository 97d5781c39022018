#include "app/serve/housekeeping.h"

#include <gtest/gtest.h>

#include <atomic>

namespace kw {
namespace {

TEST(Housekeeping, EveryChoreIsDoneAgainAndAgain) {
  std::atomic<int> first = 0, second = 0;
  {
    const Housekeeping housekeeping(
        std::chrono::milliseconds(1), [&] { first.fetch_add(1); }, [&] { second.fetch_add(1), second.notify_all(); });
    for (int seen = 0; seen < 3; seen = second) second.wait(seen);
  }
  EXPECT_EQ(first, second);  // none is begun and left
  EXPECT_GE(first, 3);
}

TEST(Housekeeping, EndsWithoutWaitingForItsPause) {
  std::atomic<int> done = 0;
  {
    const Housekeeping housekeeping(std::chrono::hours(24), [&] { ++done; });
  }
  EXPECT_EQ(done, 0);
}

}  // namespace
}  // namespace kw
