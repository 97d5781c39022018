#pragma once
// How the service is doing: counts of requests and verdicts, durations, use of the machine, and the last ten minutes of
// it. For /metrics and /v1/service.

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "app/serve/api_json.h"
#include "app/serve/experiment_desk.h"
#include "app/serve/metrics_text.h"
#include "base/http/http_server.h"
#include "kernel/gpu/gpu_use.h"
#include "kernel/judge/verdict.h"

namespace kw {

// What others count, asked for when it is wanted.
struct ServiceCounts {
  HttpCounts http;
  std::int64_t kernels_waiting = 0, kernels_asked = 0, kernels_judged = 0;
  std::int64_t conversations_open = 0, conversations_ended = 0;
  std::int64_t answers_waiting = 0, answers_running = 0, batch_rows = 0;
  std::int64_t sampled_tokens = 0, prompt_tokens = 0;
  std::int64_t jobs_waiting = 0;  // of the work queue
  std::vector<ArmCount> arms;
};

class ServiceWatch {
 public:
  explicit ServiceWatch(std::function<ServiceCounts()> counts);
  ~ServiceWatch();
  void stop();  // `counts` is not called any more

  void note_access(const AccessRecord& record);
  void note_verdict(const Verdict& verdict);

  // The part of /v1/service that is about numbers.
  Json to_json() const;
  std::string metrics() const;

 private:
  void write_machine(MetricsText& text) const;  // with the lock
  struct Point {
    double time_s = 0, requests_per_s = 0, tokens_per_s = 0, kernels_per_s = 0, cpu_percent = 0;
    std::uint64_t memory_bytes = 0;
  };
  void sample();

  const std::function<ServiceCounts()> counts_;
  const double started_s_;
  std::map<std::string, DurationHistogram> durations_;  // by kind of request; never changes after the start
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::map<std::string, std::int64_t> verdicts_;  // by status
  std::int64_t cached_ = 0;
  std::deque<Point> history_;
  std::vector<GpuUse> gpus_;
  std::thread thread_;
};

}  // namespace kw
