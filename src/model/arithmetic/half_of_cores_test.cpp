#include "model/arithmetic/half_of_cores.h"

#include <gtest/gtest.h>

#include <vector>

namespace kw {
namespace {

std::vector<int> cores_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

TEST(HalfOfCores, TheHalvesAreAllCoresAndShareNone) {
  const std::vector<int> all = cores_of_this_thread();
  std::vector<int> joined;
  for (const auto which : {HalfOfCores::first, HalfOfCores::second}) {
    const HalfOfCores half(which);
    const std::vector<int> cores = cores_of_this_thread();
    EXPECT_EQ(static_cast<int>(cores.size()), half.count());
    joined.insert(joined.end(), cores.begin(), cores.end());
  }
  if (all.size() < 2) {
    EXPECT_EQ(joined, (std::vector<int>{all.front(), all.front()}));
  } else {
    EXPECT_EQ(joined, all);
  }
  EXPECT_EQ(cores_of_this_thread(), all) << "as it was before";
}

}  // namespace
}  // namespace kw
