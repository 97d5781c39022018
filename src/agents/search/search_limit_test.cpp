#include "agents/search/search_limit.h"

#include <gtest/gtest.h>

#include "kernel/judge/judge_test_support.h"

namespace kw {
namespace {

TEST(SearchLimit, IsAboveTheFloorOnPaperAndGrowsWithTheBytes) {
  const DeviceProfile profile = load_profile("h200").value();
  Task task = suite_task("relu");
  task.sizes_train.resize(1);
  const SearchLimit limit = search_limit(task, profile);
  const auto elements = task.inputs.front().elements_at(task.sizes_train.front()).value();
  // Reading alone, as fast as the data sheet says.
  EXPECT_GT(limit.us, static_cast<double>(elements) * 4 / profile.dram_peak_gb_per_s * 1e-3);
  EXPECT_GE(limit.us, profile.launch_us);
  DeviceProfile slower = profile;
  slower.dram_gb_per_s /= 2;
  EXPECT_NEAR(search_limit(task, slower).us - profile.launch_us, 2 * (limit.us - profile.launch_us), 1e-6 * limit.us);
  EXPECT_NE(limit.what.find("GB/s"), std::string::npos);
}

TEST(SearchLimit, WithoutADeviceThereIsNone) { EXPECT_EQ(search_limit(suite_task("relu"), DeviceProfile{}).us, 0); }

}  // namespace
}  // namespace kw
