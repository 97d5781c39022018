#include "kernel/gpu/gpu_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "kernel/gpu/pool.h"

namespace kw {
namespace {

// The variables are the program's: put back after each test.
class GpuChoice : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (const char* value = std::getenv(names_[i])) before_[i] = value;
      ::unsetenv(names_[i]);
    }
    ::setenv("KERNELWRIGHT_LIBCUDA", KW_EMULATED_DRIVER, 1);
    ::setenv("KERNELWRIGHT_EMULATED_GPUS", "4", 1);
  }
  void TearDown() override {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      ::unsetenv(names_[i]);
      if (before_[i]) ::setenv(names_[i], before_[i]->c_str(), 1);
    }
  }

  static std::string uuid() {
    const auto worker = GpuWorker::start(1u << 30);
    return worker.ok() ? (*worker)->facts().uuid : to_string(worker.error());
  }
  static std::string visible() { return std::getenv("CUDA_VISIBLE_DEVICES"); }

  static constexpr std::array names_ = {"CUDA_VISIBLE_DEVICES", "KERNELWRIGHT_GPU_CHOSEN", "KERNELWRIGHT_EMULATED_GPUS",
                                        "KERNELWRIGHT_LIBCUDA"};
  std::array<std::optional<std::string>, names_.size()> before_;
};

TEST_F(GpuChoice, WorkersOpenTheChosenOne) {
  EXPECT_FALSE(gpu_is_chosen());
  const std::string first = uuid();
  ASSERT_TRUE(choose_gpu(2).ok());
  EXPECT_TRUE(gpu_is_chosen());
  const std::string third = uuid();
  EXPECT_EQ(first.size(), 32u);
  EXPECT_EQ(third.size(), 32u) << third;
  EXPECT_NE(first, third);
  // All that the pool lends, now and later, are the same.
  GpuPoolOptions options;
  options.workers = 1;
  const auto pool = GpuPool::start(options);
  ASSERT_TRUE(pool.ok()) << to_string(pool.error());
  EXPECT_EQ((*pool)->facts().uuid, third);
}

TEST_F(GpuChoice, CountsWithinWhatIsVisible) {
  ::setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  const std::string fourth = uuid();
  ::setenv("CUDA_VISIBLE_DEVICES", "1,3", 1);
  const std::string second = uuid();
  ASSERT_TRUE(choose_gpu(1).ok());
  EXPECT_EQ(visible(), "3");
  EXPECT_EQ(uuid(), fourth);
  EXPECT_NE(second, fourth);
}

TEST_F(GpuChoice, SaysThatThereIsNoSuchGpu) {
  EXPECT_THAT(to_string(choose_gpu(-1).error()), testing::HasSubstr("there is no GPU -1"));
  ::setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
  EXPECT_THAT(to_string(choose_gpu(2).error()), testing::HasSubstr("CUDA_VISIBLE_DEVICES=0,1 names 2"));
  EXPECT_FALSE(gpu_is_chosen());
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ASSERT_TRUE(choose_gpu(7).ok());
  EXPECT_THAT(uuid(), testing::HasSubstr("there is no GPU 7"));
}

TEST_F(GpuChoice, RanksTakeOneEach) {
  ::setenv("CUDA_VISIBLE_DEVICES", "3,1", 1);
  choose_gpu_of_rank(1);
  EXPECT_EQ(visible(), "1");
  EXPECT_FALSE(gpu_is_chosen()) << "where it cannot be used, the CPU may be";
  choose_gpu_of_rank(5);
  EXPECT_EQ(visible(), "1") << "who is shown one alone has that";
  ::setenv("CUDA_VISIBLE_DEVICES", "3,1", 1);
  choose_gpu_of_rank(2);
  EXPECT_EQ(visible(), "3") << "more ranks than GPUs";
}

// A rank reads `--gpu 3` once more, in the environment that it was given.
TEST_F(GpuChoice, TheSameChoiceTwiceIsOne) {
  ::setenv("CUDA_VISIBLE_DEVICES", "5,6,7,8", 1);
  ASSERT_TRUE(choose_gpu(3).ok());
  ASSERT_TRUE(choose_gpu(3).ok());
  EXPECT_EQ(visible(), "8");
  choose_gpu_of_rank(1);
  EXPECT_EQ(visible(), "8") << "the one that was named";
}

}  // namespace
}  // namespace kw
