#include "kernel/performance/access_cost.h"

#include <gtest/gtest.h>

#include "kernel/performance/device_profile.h"

namespace kw {
namespace {

ObservedAccess access(std::uint32_t bytes, std::uint64_t stride, LaneMask active = all_lanes) {
  ObservedAccess made;
  made.bytes = bytes;
  made.active = active;
  for (std::size_t lane = 0; lane < warp_lanes; ++lane) made.addresses[lane] = 4096 + lane * stride;
  return made;
}

std::size_t sectors(const ObservedAccess& made, std::uint32_t& lines) {
  std::vector<std::uint64_t> list;
  lines = collect_sectors(made, list);
  return list.size();
}

TEST(AccessCost, Sectors) {
  std::uint32_t lines = 0;
  EXPECT_EQ(sectors(access(4, 4), lines), 4u);
  EXPECT_EQ(lines, 1u);
  EXPECT_EQ(sectors(access(16, 16), lines), 16u);
  EXPECT_EQ(lines, 4u);
  EXPECT_EQ(sectors(access(4, 128), lines), 32u);
  EXPECT_EQ(lines, 32u);
  EXPECT_EQ(sectors(access(4, 0), lines), 1u);
  EXPECT_EQ(sectors(access(4, 8), lines), 8u);
  EXPECT_EQ(sectors(access(4, 4, 1), lines), 1u);
  ObservedAccess odd = access(4, 4);
  for (auto& address : odd.addresses) address += 4;
  EXPECT_EQ(sectors(odd, lines), 5u);
  std::swap(odd.addresses[0], odd.addresses[31]);
  EXPECT_EQ(sectors(odd, lines), 5u);
  EXPECT_EQ(lines, 2u);
  EXPECT_EQ(fewest_sectors(access(4, 128)), 4u);
  EXPECT_EQ(fewest_sectors(access(4, 0)), 1u);
}

TEST(AccessCost, BankConflicts) {
  EXPECT_EQ(shared_wavefronts(access(4, 4)), 1u);
  EXPECT_EQ(shared_wavefronts(access(4, 0)), 1u);      // broadcast
  EXPECT_EQ(shared_wavefronts(access(4, 8)), 2u);      // every second bank
  EXPECT_EQ(shared_wavefronts(access(4, 128)), 32u);   // one bank
  EXPECT_EQ(shared_wavefronts(access(4, 132)), 1u);    // padded
  EXPECT_EQ(shared_wavefronts(access(8, 8)), 2u);      // half a warp at a time
  EXPECT_EQ(shared_wavefronts(access(16, 16)), 4u);    // a quarter at a time
  EXPECT_EQ(shared_wavefronts(access(16, 128)), 32u);  // each quarter's lanes in the same four banks
  EXPECT_EQ(shared_wavefronts(access(2, 2)), 1u);
  EXPECT_EQ(fewest_wavefronts(access(16, 128)), 4u);
  EXPECT_EQ(same_address_lanes(access(4, 0)), 32u);
  EXPECT_EQ(same_address_lanes(access(4, 0, 7)), 3u);
  EXPECT_EQ(same_address_lanes(access(4, 4)), 1u);
}

TEST(DeviceProfiles, AllLoad) {
  const std::string folder = std::string(KW_SOURCE_ROOT) + "/profiles";
  const auto names = profile_names(folder);
  EXPECT_GE(names.size(), 5u);
  for (const std::string& name : names) {
    const auto profile = load_profile(folder + "/" + name + ".yaml");
    ASSERT_TRUE(profile.ok()) << to_string(profile.error());
    EXPECT_FALSE(profile->digest.empty());
    EXPECT_EQ(profile->cost_of("div.rn.f32").pipe, Pipe::fp32);
    EXPECT_GT(profile->cost_of("div.rn.ftz.f32").issue_slots, 4);
    EXPECT_EQ(profile->cost_of("ld.global.nc.v4.f32").pipe, Pipe::memory);
    EXPECT_EQ(profile->cost_of("fma.rn.f64").pipe, Pipe::fp64);
    EXPECT_EQ(profile->cost_of("never.heard.of").pipe, Pipe::integer);
  }
  EXPECT_FALSE(load_profile(folder + "/none.yaml").ok());
  EXPECT_FALSE(load_profile(folder + "/instructions.yaml").ok());
}

}  // namespace
}  // namespace kw
