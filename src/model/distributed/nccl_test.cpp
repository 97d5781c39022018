#include "model/distributed/nccl.h"

#include <filesystem>

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
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "there is a GPU: collectives are not tested here";
  const auto version = NcclCommunicator::version();
  with_ranks(2, [](Communicator& ranks) {
    const auto joined = NcclCommunicator::join(ranks);
    ASSERT_FALSE(joined.ok());
    EXPECT_FALSE(joined.error().message.empty());
    ranks.fail(joined.error());
  });
}

}  // namespace
}  // namespace kw
