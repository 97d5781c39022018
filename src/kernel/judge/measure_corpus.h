#pragma once
// Times of many good kernels on this GPU, at their train and held-out sizes: what a device profile is fitted to.

#include <functional>
#include <memory>

#include "kernel/judge/gpu_backend.h"
#include "kernel/judge/measured_kernels.h"
#include "kernel/performance/device_profile.h"

namespace kw {

struct CorpusEntry {
  std::shared_ptr<const Task> task;
  std::string task_name;  // as read_measurements finds it again
  std::string kernel;     // likewise
  std::string text;
};

// The suite's kernels, and beside the suite, where they are there, micro-benchmarks (bench/micro) and the honest
// kernels of the tests (tests/correct).
Result<std::vector<CorpusEntry>> calibration_corpus(const std::filesystem::path& suite);

struct MeasuredCorpus {
  std::string json_lines;  // a file for read_measurements
  std::size_t times = 0;
  std::vector<std::string> problems;  // kernels that could not be measured, with the reason
};

// `measured` is called after each kernel, from any thread. Ends early when interrupted.
MeasuredCorpus measure_corpus(CompileService& service, GpuBackend& gpu, const DeviceProfile& profile,
                              const std::vector<CorpusEntry>& corpus, int threads,
                              const std::function<void(const std::string&)>& measured);

}  // namespace kw
