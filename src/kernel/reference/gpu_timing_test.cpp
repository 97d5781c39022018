#include "kernel/reference/gpu_timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace kw {
namespace {

// A device and a host with one clock, which goes on by what they do: the host's slowness shows as it does on a GPU, and
// what else this machine does not at all. Times in us.
struct ImitatedDevice {
  double clock = 0;
  double free_at = 0;
  double event_at[2] = {};
  int events = 0;
  int memsets = 0;
  std::size_t allocated = 0;
  double flush_us = 100;

  double now() { return clock += 0.05; }  // asking takes time, so that who asks until it has come ends
  void work(double us) { free_at = std::max(free_at, clock) + us; }
  void host_works(double us) { clock += std::max(us, 0.0); }
};

ImitatedDevice device;
double host_us() { return device.now(); }

double& at(CUevent event) { return *reinterpret_cast<double*>(event); }

CudaDriver imitated_driver() {
  device = {};
  CudaDriver driver;
  driver.device_name = "imitated";
  driver.l2_bytes = std::size_t{50} << 20;
  driver.get_error_string = [](CUresult, const char** words) {
    *words = "imitated fault";
    return CUDA_SUCCESS;
  };
  driver.event_create = [](CUevent* event, unsigned) {
    *event = reinterpret_cast<CUevent>(&device.event_at[device.events++]);
    return CUDA_SUCCESS;
  };
  driver.event_destroy = [](CUevent) {
    --device.events;
    return CUDA_SUCCESS;
  };
  driver.event_record = [](CUevent event, CUstream) {
    at(event) = std::max(device.free_at, device.now());
    return CUDA_SUCCESS;
  };
  driver.event_query = [](CUevent event) { return device.now() >= at(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY; };
  driver.event_synchronize = [](CUevent event) {
    device.host_works(at(event) - device.now());
    return CUDA_SUCCESS;
  };
  driver.event_elapsed_time = [](float* ms, CUevent start, CUevent end) {
    *ms = static_cast<float>((at(end) - at(start)) / 1000);
    return CUDA_SUCCESS;
  };
  driver.memory_allocate = [](CUdeviceptr* pointer, std::size_t bytes) {
    device.allocated = bytes;
    *pointer = 1;
    return CUDA_SUCCESS;
  };
  driver.memory_free = [](CUdeviceptr) {
    device.allocated = 0;
    return CUDA_SUCCESS;
  };
  driver.memset_async = [](CUdeviceptr, unsigned, std::size_t words, CUstream) {
    EXPECT_GE(4 * words, std::size_t{100} << 20);
    ++device.memsets;
    device.work(device.flush_us);
    return CUDA_SUCCESS;
  };
  return driver;
}

constexpr TimingOptions quick{.trials_min = 8, .trials_max = 30, .relative_interval = 0.1, .budget_ms = 400};

TEST(GpuTiming, HidesASlowHostBehindFlushes) {
  const CudaDriver driver = imitated_driver();
  // Four operations of 5 us each, 100 us apart on the host: 320 us if the device waited, 20 us if it did not.
  const auto call = [] {
    for (int i = 0; i < 4; ++i) {
      device.host_works(100);
      device.work(5);
    }
  };
  const ReferenceTimes times = time_on_gpu(driver, call, quick, host_us);
  EXPECT_GE(times.trials_us.size(), 8u);
  EXPECT_GE(times.flushes, 4);
  EXPECT_NEAR(times.enqueue_us, 400, 1);
  EXPECT_NEAR(times.flush_us, 100, 1);
  EXPECT_EQ(times.trials_exposed, 0);
  for (const double us : times.trials_us) EXPECT_NEAR(us, 20, 1);
  EXPECT_EQ(device.events, 0);
  EXPECT_EQ(device.allocated, 0u);
}

// A pause of the host exposes a trial, which is then made again.
TEST(GpuTiming, RepeatsTrialsThatAPauseExposed) {
  const CudaDriver driver = imitated_driver();
  int calls = 0;
  const auto call = [&] {
    device.host_works(++calls % 7 == 0 ? 5000 : 10);
    device.work(5);
  };
  const ReferenceTimes times = time_on_gpu(driver, call, quick, host_us);
  EXPECT_GE(times.trials_us.size(), 8u);
  EXPECT_EQ(times.trials_exposed, 0);
  for (const double us : times.trials_us) EXPECT_NEAR(us, 5, 1);
}

TEST(GpuTiming, CountsTrialsThatCannotBeHidden) {
  const CudaDriver driver = imitated_driver();
  device.flush_us = 30;
  // The text waits for the device itself.
  const auto call = [] {
    device.work(10);
    device.host_works(device.free_at - device.now());
    device.work(10);
  };
  const ReferenceTimes times = time_on_gpu(driver, call, quick, host_us);
  EXPECT_GE(times.trials_us.size(), 3u);
  EXPECT_EQ(times.trials_exposed, static_cast<int>(times.trials_us.size()));
}

TEST(GpuTiming, StopsWithinItsBudget) {
  const CudaDriver driver = imitated_driver();
  const double start = device.now();
  const ReferenceTimes times = time_on_gpu(driver, [] { device.work(60'000); }, quick, host_us);
  EXPECT_GE(times.trials_us.size(), 3u);
  EXPECT_LT(times.trials_us.size(), 8u);
  EXPECT_LT(device.now() - start, 4e6);
}

TEST(GpuTiming, FaultsAreThrownWithTheDriversWords) {
  CudaDriver driver = imitated_driver();
  driver.memory_allocate = [](CUdeviceptr*, std::size_t) { return CUDA_ERROR_OUT_OF_MEMORY; };
  try {
    time_on_gpu(driver, [] {}, quick, host_us);
    FAIL();
  } catch (const std::runtime_error& problem) {
    EXPECT_STREQ(problem.what(), "allocating memory for flushing the L2 failed: imitated fault (CUDA error 2)");
  }
  driver = imitated_driver();
  EXPECT_THROW(
      time_on_gpu(driver, [] { throw std::runtime_error("the text's own"); }, quick, host_us), std::runtime_error);
  EXPECT_EQ(device.allocated, 0u);
}

}  // namespace
}  // namespace kw
