// How long a verdict takes: every naive and optimised kernel of the suite, one after the other. The first pass makes
// what is kept for a task (reference, cases, the naive kernel's time); the second is measured, with nothing of the
// kernel itself kept: neither compilation nor verdict. Pin it to one core to measure one core:
//   taskset -c 0 build/src/kernel/judge/judge_bench [--each: a line for every kernel]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>

#include "base/statistics.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/worker.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

struct Sample {
  int tier = 0;
  double ms = 0;
  double compile_ms = 0;
};

int run(bool each) {
  ServiceOptions service_options;
  service_options.pool.workers = 1;
  service_options.disk_cache = false;
  service_options.memory_cache_bytes = 0;
  CompileService service(service_options);
  JudgeOptions options;
  options.profile = load_profile("h200").value();
  options.secret = "a benchmark has no secrets";
  options.cache = false;
  Judge judge(service, options);
  const auto folder = std::filesystem::path(KW_SOURCE_ROOT) / "tasks";
  const auto suite = load_suite(folder);
  std::vector<Sample> samples;
  std::map<std::string, std::vector<double>> stages;
  double first_pass = 0;
  int wrong = 0;
  for (const SuiteEntry& entry : *suite) {
    for (const char* variant : {"naive.cu", "optimised.cu"}) {
      const auto path = folder / entry.name / variant;
      if (!std::filesystem::exists(path)) continue;
      const std::string text = read_file(path).value();
      first_pass += judge.judge(*entry.task, text, path.string()).judge_ms;
      const Verdict verdict = judge.judge(*entry.task, text, path.string());
      wrong += verdict.correct ? 0 : 1;
      samples.push_back({entry.task->tier, verdict.judge_ms, verdict.compile_ms});
      for (const auto& [stage, ms] : verdict.stages_ms) stages[stage].push_back(ms);
      if (each) std::fflush(stdout), std::printf("%8.1f ms  %s/%s\n", verdict.judge_ms, entry.name.c_str(), variant);
    }
  }
  const auto column = [&](int low, int high) {
    std::vector<double> values;
    for (const Sample& sample : samples)
      if (sample.tier >= low && sample.tier <= high) values.push_back(sample.ms);
    return values;
  };
  double total = 0;
  for (const Sample& sample : samples) total += sample.ms;
  std::printf("%zu kernels, %d not correct; second pass %.1f s, first pass %.1f s\n", samples.size(), wrong,
              total / 1000, first_pass / 1000);
  for (const auto& [name, low, high] : {std::tuple("tiers 0 and 1", 0, 1), {"tiers 2 and 3", 2, 3}, {"all", 0, 3}}) {
    const auto values = column(low, high);
    std::printf("%-14s %4zu kernels   median %7.1f ms   90 %% within %7.1f ms   longest %7.1f ms\n", name,
                values.size(), median(values), quantile(values, 0.9), quantile(values, 1));
  }
  std::printf("where the time goes:\n");
  for (const auto& [stage, values] : stages) {
    double sum = 0;
    for (const double value : values) sum += value;
    std::printf("  %-26s median %7.1f ms   %5.1f %% of all\n", stage.c_str(), median(values), 100 * sum / total);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) {
  if (const auto code = kw::run_if_worker(argc, argv)) return *code;
  return kw::run(argc > 1 && std::string_view(argv[1]) == "--each");
}
