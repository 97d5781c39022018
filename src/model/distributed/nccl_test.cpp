#include "model/distributed/nccl.h"

#include <filesystem>
#include <numeric>

#include "model/distributed/nccl_for_tests.h"
#include "model/distributed/ranks_for_tests.h"

namespace kw {
namespace {

// The library of PyTorch's wheel, where it is: its functions are there under the names that are used.
TEST(Nccl, TheWheelsLibraryHasWhatIsNeeded) {
  const auto version = NcclCommunicator::version();
  if (!version.ok()) GTEST_SKIP() << to_string(version.error());
  EXPECT_TRUE(version->starts_with("2.")) << *version;
}

TEST(Nccl, WithoutAGpuItSaysSo) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "there is a GPU";
  with_ranks(2, [](Communicator& ranks) {
    const auto joined = NcclCommunicator::join(ranks);
    ASSERT_FALSE(joined.ok());
    EXPECT_FALSE(joined.error().message.empty());
    ranks.fail(joined.error());
  });
}

TEST(Nccl, CollectivesDoWhatTheySay) {
  const EmulatedNccl emulated;
  for (const int size : {1, 2, 3}) {
    with_ranks(size, [size](Communicator& ranks) {
      const auto joined = NcclCommunicator::join(ranks);
      ASSERT_TRUE(joined.ok()) << to_string(joined.error());
      NcclCommunicator& nccl = **joined;
      const auto at = [](int rank) { return static_cast<std::size_t>(rank); };
      const auto of_all = static_cast<float>(size * (size + 1) / 2);
      std::vector<float> values(at(size) * 4, static_cast<float>(ranks.rank() + 1)), single(3, values[0]);
      float* const own = values.data() + 4 * ranks.rank();
      ASSERT_TRUE(nccl.together([&]() -> Result<void> {
                        KW_TRY_VOID(nccl.reduce_scatter(values.data(), own, 4, DeviceNumber::float32, nullptr));
                        return nccl.reduce(single.data(), 3, DeviceNumber::float32, size - 1, nullptr);
                      })
                      .ok());
      ASSERT_TRUE(nccl.wait([] { return true; }).ok());
      EXPECT_EQ(own[3], of_all);
      if (ranks.rank() == size - 1) {
        EXPECT_EQ(single[2], of_all);
      }
      std::fill_n(own, 4, static_cast<float>(10 + ranks.rank()));
      ASSERT_TRUE(nccl.all_gather(own, values.data(), 4, DeviceNumber::float32, nullptr).ok());
      ASSERT_TRUE(nccl.broadcast(single.data(), 3, DeviceNumber::float32, size - 1, nullptr).ok());
      ASSERT_TRUE(nccl.wait([] { return true; }).ok());
      for (int rank = 0; rank < size; ++rank) EXPECT_EQ(values[at(rank) * 4], 10.0f + static_cast<float>(rank));
      EXPECT_EQ(single[0], of_all);
    });
  }
}

TEST(Nccl, TwoRanksOnOneGpuAreNamed) {
  const EmulatedNccl emulated;
  with_ranks(3, [](Communicator& ranks) {
    const auto joined = NcclCommunicator::join(ranks, ranks.rank() == 0 ? "GPU-a" : "GPU-b");
    ASSERT_FALSE(joined.ok());
    EXPECT_NE(joined.error().message.find("ranks 1 and 2 have the same GPU, GPU-b"), std::string::npos);
  });
}

// One of three has gone while the others are in a collective: they do not wait for the deadline, and name it.
TEST(Nccl, ARankThatHasGoneIsNamed) {
  const EmulatedNccl emulated;
  with_ranks(3, [](Communicator& ranks) {
    auto joined = NcclCommunicator::join(ranks);
    ASSERT_TRUE(joined.ok());
    if (ranks.rank() == 1) {
      ranks.fail({"its disk is full", "", {}});
      return;
    }
    std::vector<float> values(8, 1.0f);
    const auto sum = (*joined)->reduce(values.data(), values.size(), DeviceNumber::float32, 0, nullptr);
    ASSERT_FALSE(sum.ok());
    EXPECT_NE(sum.error().message.find("rank 1 has failed: its disk is full"), std::string::npos)
        << to_string(sum.error());
    EXPECT_FALSE((*joined)->broadcast(values.data(), 8, DeviceNumber::float32, 0, nullptr).ok());
  });
}

TEST(Nccl, ARankThatHangsEndsWithTheDeadline) {
  const EmulatedNccl emulated;
  std::atomic<bool> over = false;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([rank, &over] {
      RankPlace place = test_place(rank, 2);
      place.deadline_s = 2;
      auto ranks = Communicator::join(place);
      ASSERT_TRUE(ranks.ok());
      auto joined = NcclCommunicator::join(**ranks);
      ASSERT_TRUE(joined.ok());
      if (rank == 1) {
        over.wait(false);
        return;
      }
      std::vector<float> values(8, 1.0f);
      const auto sum = (*joined)->reduce(values.data(), 8, DeviceNumber::float32, 0, nullptr);
      EXPECT_FALSE(sum.ok());
      if (!sum.ok()) {
        EXPECT_NE(sum.error().message.find("within 2 s"), std::string::npos) << to_string(sum.error());
      }
      over = true;
      over.notify_all();
    });
  }
}

}  // namespace
}  // namespace kw
