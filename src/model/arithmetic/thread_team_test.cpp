#include "model/arithmetic/thread_team.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace kw {
namespace {

TEST(ThreadTeam, DoesEveryPartOnce) {
  for (const int threads : {1, 2, 5}) {  // five are more than this machine may have: oversubscription
    ThreadTeam team(threads);
    EXPECT_EQ(team.size(), threads);
    for (const std::int64_t parts : {0, 1, 2, 3, 64, 1000}) {
      std::vector<int> done(parts, 0);
      team.run(parts, [&](std::int64_t part) { ++done[part]; });
      EXPECT_EQ(done, std::vector<int>(parts, 1));
    }
  }
}

TEST(ThreadTeam, ManyShortRunsSeeTheirOwnBodyOnly) {
  ThreadTeam team(3);
  std::vector<std::int64_t> sums(7, 0);
  for (std::int64_t run = 0; run < 20000; ++run) team.run(7, [&, run](std::int64_t part) { sums[part] += run; });
  for (const std::int64_t sum : sums) EXPECT_EQ(sum, 20000LL * 19999 / 2);
}

TEST(ThreadTeam, WakesThreadsThatSleep) {
  ThreadTeam team(2);
  for (int round = 0; round < 5; ++round) {
    timespec pause{0, 2'000'000};  // longer than they spin
    ::nanosleep(&pause, nullptr);
    std::atomic<int> done{0};
    team.run(50, [&](std::int64_t) { ++done; });
    EXPECT_EQ(done.load(), 50);
  }
}

}  // namespace
}  // namespace kw
