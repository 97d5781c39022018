#include "kernel/emulate/device_memory.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(DeviceMemory, AllocationsAreAlignedAndApart) {
  DeviceMemory memory;
  std::uint64_t first = memory.allocate(100, "a", MemoryAccessRight::read_write).value();
  std::uint64_t second = memory.allocate(1, "b", MemoryAccessRight::read_write).value();
  EXPECT_EQ(first % 256, 0u);
  EXPECT_EQ(second % 256, 0u);
  EXPECT_GE(second - (first + 100), 4096u);
  EXPECT_EQ(memory.find(first + 99)->name, "a");
  EXPECT_EQ(memory.find(first + 100), nullptr);
  EXPECT_EQ(memory.find(first - 1), nullptr);
  EXPECT_EQ(memory.nearest(first + 104)->name, "a");
  EXPECT_EQ(memory.nearest(second - 8)->name, "b");
}

TEST(DeviceMemory, KnowsWhatWasWritten) {
  DeviceMemory memory;
  std::uint64_t base = memory.allocate(16, "a", MemoryAccessRight::read_write).value();
  EXPECT_EQ(memory.undefined(base, 16)->count, 16u);
  ASSERT_TRUE(memory.write(base + 4, "1234").ok());
  EXPECT_EQ(memory.undefined(base, 16)->count, 12u);
  EXPECT_EQ(memory.undefined(base + 4, 4)->count, 0u);
  EXPECT_EQ(memory.undefined(base + 4, 12)->first_offset, 4u);
  EXPECT_EQ(memory.read(base + 4, 4).value(), "1234");
  EXPECT_EQ(memory.read(base, 4).value(), "\xff\xff\xff\xff");
  // A copy takes the undefined bytes along.
  std::uint64_t other = memory.allocate(16, "b", MemoryAccessRight::read_write).value();
  ASSERT_TRUE(memory.fill(other, 7, 16).ok());
  ASSERT_TRUE(memory.copy(other, base, 8).ok());
  EXPECT_EQ(memory.undefined(other, 16)->count, 4u);
}

TEST(DeviceMemory, RefusesWhatIsOutside) {
  DeviceMemory memory;
  std::uint64_t base = memory.allocate(16, "a", MemoryAccessRight::read_only).value();
  EXPECT_FALSE(memory.write(base + 13, "1234").ok());
  EXPECT_FALSE(memory.read(base - 1, 2).ok());
  EXPECT_FALSE(memory.read(base, ~std::uint64_t{0}).ok());
  EXPECT_FALSE(memory.fill(base, 0, 17).ok());
  EXPECT_FALSE(memory.free(base + 1).ok());
  ASSERT_TRUE(memory.free(base).ok());
  EXPECT_FALSE(memory.free(base).ok());
  EXPECT_FALSE(memory.read(base, 1).ok());
  EXPECT_TRUE(memory.nearest(base)->freed);
}

TEST(DeviceMemory, HasLimits) {
  DeviceMemory memory(MemoryLimits{1000, 3});
  EXPECT_FALSE(memory.allocate(1001, "large", MemoryAccessRight::read_write).ok());
  EXPECT_FALSE(memory.allocate(~std::uint64_t{0}, "endless", MemoryAccessRight::read_write).ok());
  std::uint64_t first = memory.allocate(600, "a", MemoryAccessRight::read_write).value();
  EXPECT_FALSE(memory.allocate(600, "b", MemoryAccessRight::read_write).ok());
  ASSERT_TRUE(memory.free(first).ok());
  EXPECT_TRUE(memory.allocate(600, "b", MemoryAccessRight::read_write).ok());
  EXPECT_TRUE(memory.allocate(0, "empty", MemoryAccessRight::read_write).ok());
  EXPECT_FALSE(memory.allocate(1, "one too many", MemoryAccessRight::read_write).ok());
}

}  // namespace
}  // namespace kw
