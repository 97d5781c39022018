#include "kernel/gpu/gpu_use.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace kw {
namespace {

TEST(GpuUse, WithoutTheLibraryThereIsAnError) {
  EXPECT_FALSE(GpuUseReader::open("libkernelwright-no-such.so").ok());
  EXPECT_FALSE(GpuUseReader::open("libm.so.6").ok());  // a library, but another one
}

TEST(GpuUse, EveryDeviceHasMemory) {
  if (!std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "there is no NVIDIA GPU";
  const auto reader = GpuUseReader::open();
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  const auto all = reader->read();
  ASSERT_FALSE(all.empty());
  for (const GpuUse& use : all) {
    EXPECT_FALSE(use.name.empty());
    EXPECT_GT(use.memory_bytes, use.memory_used_bytes);
    EXPECT_LE(use.busy_percent.value_or(0), 100);
  }
}

}  // namespace
}  // namespace kw
