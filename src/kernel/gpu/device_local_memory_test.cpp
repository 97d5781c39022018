// On hardware local memory outlives a launch. Emulated threads begin with nothing, so there only the way is tested.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "kernel/gpu/gpu_for_tests.h"

namespace kw {
namespace {

// Through a pointer of which the compiler does not know where it leads, or else there would be no frame.
const std::string kernels = R"(
extern "C" __global__ void leave(unsigned* found, int n) {
  unsigned frame[48];
  volatile unsigned* kept = n < 0 ? found : frame;
  for (int k = 0; k < 48; ++k) kept[k] = 0x600du;
}
extern "C" __global__ void look(unsigned* found, int n) {
  unsigned frame[48];
  volatile unsigned* kept = n < 0 ? found : frame;
  unsigned marks = 0;
  for (int k = 0; k < 48; ++k) marks += kept[k] == 0x600du;
  atomicAdd(found, marks);
}
)";

// All places of a large GPU, several times; an emulated one is slow.
const std::uint32_t blocks = ::access("/dev/nvidiactl", F_OK) == 0 ? 4096 : 8;

GpuLaunch launch_of(std::uint32_t kernel) {
  GpuLaunch launch;
  launch.kernel = kernel;
  launch.grid = {blocks, 1, 1};
  launch.block = {256, 1, 1};
  const int n = 1;
  launch.arguments = {{std::string(8, '\0'), {{0, 0, 0}}},
                      {std::string(reinterpret_cast<const char*>(&n), sizeof n), {}}};
  return launch;
}

RunRequest request_of(const std::vector<std::uint32_t>& launches, std::uint64_t inputs) {
  RunRequest request;
  request.slot = 9;
  request.inputs = inputs;
  request.plan.buffers = {{Buffer::Kind::output, sizeof(std::uint32_t)}};
  request.plan.steps.emplace_back(GpuSet{{0, 0, 0}, 0, sizeof(std::uint32_t)});
  for (const std::uint32_t kernel : launches) request.plan.steps.emplace_back(launch_of(kernel));
  return request;
}

std::uint32_t marks_in(const RunReply& reply) {
  std::uint32_t marks = 0;
  std::memcpy(&marks, reply.outputs.at(0).data(), sizeof marks);
  return marks;
}

TEST(GpuLocalMemory, IsOverwrittenBetweenRuns) {
  const bool real = ::access("/dev/nvidiactl", F_OK) == 0;
  const Image image = real ? Image::cubin : Image::ptx;
  if (real)
    ::unsetenv("KERNELWRIGHT_LIBCUDA");
  else
    ::setenv("KERNELWRIGHT_LIBCUDA", KW_EMULATED_DRIVER, 1);
  const auto worker = GpuWorker::start(1u << 30);
  ASSERT_TRUE(worker.ok()) << to_string(worker.error());
  load_helpers(**worker, image);
  load_source(**worker, 9, kernels, {"leave", "look"}, image);
  const auto pack = InputPack::make({});
  ASSERT_TRUE((*worker)->load_inputs(*pack, patience).done());
  // Within one run the marks are found: there is something to overwrite.
  const auto together = (*worker)->run({request_of({0, 1}, pack->id())}, patience);
  ASSERT_TRUE(together.done()) << together.text;
  const std::uint32_t left = marks_in(together.value.at(0));
  const auto apart = (*worker)->run({request_of({0}, pack->id()), request_of({1}, pack->id())}, patience);
  ASSERT_TRUE(apart.done()) << apart.text;
  const std::uint32_t found = marks_in(apart.value.at(1));
  std::printf("marks found: %u in the same run, %u in the next\n", left, found);
  if (real) {
    EXPECT_GT(left, 0u);
  }
  EXPECT_EQ(found, 0u);
}

}  // namespace
}  // namespace kw
