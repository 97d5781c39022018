#include "base/parallel_for.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

namespace kw {
namespace {

TEST(ParallelFor, EachPieceOnceAndAllBeforeItReturns) {
  for (const int threads : {-1, 0, 1, 2, 7}) {
    for (const std::size_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> times(count);
      parallel_for(count, threads, [&](std::size_t i) { ++times[i]; });
      for (const auto& each : times) ASSERT_EQ(each, 1) << threads << " threads, " << count << " pieces";
    }
  }
}

TEST(ParallelFor, NoMoreThreadsThanAskedForNorThanPieces) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  const auto note = [&](std::size_t) {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  };
  parallel_for(1000, 1, note);
  EXPECT_EQ(seen, std::set{std::this_thread::get_id()});
  parallel_for(1000, 3, note);
  EXPECT_LE(seen.size(), 3u);
  // Two pieces that wait for each other are on two threads.
  std::atomic<int> arrived{0};
  parallel_for(2, 2, [&](std::size_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
}

}  // namespace
}  // namespace kw
