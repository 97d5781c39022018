#include "kernel/reference/gpu_timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "kernel/reference/trial_plan.h"

namespace kw {
namespace {

constexpr CUstream default_stream = nullptr;

// Clocks rise, libraries choose their algorithms and allocate their workspaces.
constexpr int warm_up_calls = 5;
constexpr double warm_up_ms = 30;
constexpr int probe_calls = 5;
// A call that takes longer to enqueue cannot be hidden: the driver's queue holds about a thousand operations anyway.
constexpr double hidden_us_max = 10'000;
// Trials in which the enqueueing was not hidden are made again, so often at most.
constexpr int repeated_max = 20;

double median_of(std::vector<double> samples) {
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end());
  return samples[samples.size() / 2];
}

class Event {
 public:
  explicit Event(const CudaDriver& driver) : driver_(driver) {
    driver_.require(driver_.event_create(&event_, CU_EVENT_DEFAULT), "making an event");
  }
  ~Event() { driver_.event_destroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record() { driver_.require(driver_.event_record(event_, default_stream), "recording an event"); }
  void wait() { driver_.require(driver_.event_synchronize(event_), "waiting for the GPU"); }
  bool reached() {
    const CUresult result = driver_.event_query(event_);
    if (result == CUDA_ERROR_NOT_READY) return false;
    driver_.require(result, "asking for an event");
    return true;
  }
  double us_after(const Event& start) {
    float milliseconds = 0;
    driver_.require(driver_.event_elapsed_time(&milliseconds, start.event_, event_), "reading the time of events");
    return 1000.0 * milliseconds;
  }

 private:
  const CudaDriver& driver_;
  CUevent event_ = nullptr;
};

// Writing twice the cache's size leaves nothing of the inputs in it.
class CacheFlush {
 public:
  explicit CacheFlush(const CudaDriver& driver)
      : driver_(driver), words_(std::max<std::size_t>(2 * driver.l2_bytes, std::size_t{64} << 20) / 4) {
    driver_.require(driver_.memory_allocate(&scratch_, 4 * words_), "allocating memory for flushing the L2");
  }
  ~CacheFlush() { driver_.memory_free(scratch_); }
  CacheFlush(const CacheFlush&) = delete;
  CacheFlush& operator=(const CacheFlush&) = delete;

  void enqueue() { driver_.require(driver_.memset_async(scratch_, 0, words_, default_stream), "flushing the L2"); }

 private:
  const CudaDriver& driver_;
  std::size_t words_;
  CUdeviceptr scratch_ = 0;
};

}  // namespace

double steady_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ReferenceTimes time_on_gpu(const CudaDriver& driver, const std::function<void()>& call, const TimingOptions& options,
                           double (*host_us)()) {
  const auto us_since = [host_us](double start) { return host_us() - start; };
  CacheFlush flush(driver);
  Event start(driver), stop(driver);
  const auto finish = [&] {
    stop.record();
    stop.wait();
  };

  const double warm_up_start = host_us();
  for (int i = 0; i < warm_up_calls || us_since(warm_up_start) < 1000 * warm_up_ms; ++i) {
    call();
    finish();
    if (us_since(warm_up_start) > 1000 * std::max(options.budget_ms, warm_up_ms)) break;
  }

  ReferenceTimes times;
  std::vector<double> enqueue_us, flush_us;
  for (int i = 0; i < probe_calls; ++i) {
    const double before = host_us();
    call();
    enqueue_us.push_back(us_since(before));
    finish();
    start.record();
    flush.enqueue();
    finish();
    flush_us.push_back(stop.us_after(start));
  }
  times.flush_us = median_of(flush_us);
  const double flush_known_us = std::max(times.flush_us, 1.0);
  const int flushes_max = std::max(1, static_cast<int>(hidden_us_max / flush_known_us));
  // Twice the typical time, and something for the events and the flushes themselves.
  times.flushes =
      std::clamp(static_cast<int>(std::ceil((2 * median_of(enqueue_us) + 50) / flush_known_us)), 1, flushes_max);

  enqueue_us.clear();
  int repeated = 0, exposed_in_a_row = 0;
  const double trials_start = host_us();
  while (!trials_are_enough(times.trials_us, us_since(trials_start) / 1000, options)) {
    for (int i = 0; i < times.flushes; ++i) flush.enqueue();
    start.record();
    const double before = host_us();
    call();
    const double enqueued_us = us_since(before);
    stop.record();
    // Still flushing, so all of the call lay ready when the device came to it.
    const bool exposed = start.reached();
    stop.wait();
    if (exposed && repeated < repeated_max && us_since(trials_start) < 500 * options.budget_ms) {
      ++repeated;
      // Once can be a pause of the host; twice in a row means that more has to be hidden.
      if (++exposed_in_a_row % 2 == 0) times.flushes = std::min(2 * times.flushes, flushes_max);
      continue;
    }
    exposed_in_a_row = 0;
    times.trials_us.push_back(stop.us_after(start));
    times.trials_exposed += exposed;
    enqueue_us.push_back(enqueued_us);
  }
  times.enqueue_us = median_of(enqueue_us);
  return times;
}

}  // namespace kw
