// How long a verdict takes: every naive and optimised kernel of the suite, one after the other. The first pass makes
// what is kept for a task (reference, cases, the naive kernel's time); the second is measured, with nothing of the
// kernel itself kept: neither compilation nor verdict. Pin it to one core to measure one core:
//   taskset -c 0 build/src/kernel/judge/judge_bench [--each: a line for every kernel] [--every N: of each N-th task]
//   [--passes N: the second pass N times, for a profiler] [--small: no full sizes, as where a GPU looks at them]
//   [--only TEXT: tasks whose name holds it]
// Other work on the machine stretches the times, but hardly the CPU times.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <sys/resource.h>
#include <unistd.h>

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

// CPU time so far, in milliseconds.
double own_cpu_ms() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

// Of the compiling processes and of what they have waited for.
double compilers_cpu_ms(CompileService& service) {
  double ms = 0;
  for (const int pid : service.pool().worker_pids()) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    std::istringstream fields(line.substr(std::min(line.rfind(')') + 1, line.size())));
    std::string field;
    for (int i = 3; fields >> field && i <= 17; ++i)
      if (i >= 14) ms += std::strtod(field.c_str(), nullptr) * 1e3 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  return ms;
}

struct Arguments {
  bool each = false, small = false;
  std::size_t every = 1, passes = 1;
  std::string only;
};

int run(const Arguments& arguments) {
  ServiceOptions service_options;
  service_options.pool.workers = 1;
  service_options.disk_cache = false;
  service_options.memory_cache_bytes = 0;
  CompileService service(service_options);
  JudgeOptions options;
  options.profile = load_profile("h200").value();
  options.secret = "a benchmark has no secrets";
  options.cache = false;
  options.full_size = !arguments.small;
  Judge judge(service, options);
  const auto folder = std::filesystem::path(KW_SOURCE_ROOT) / "tasks";
  const auto suite = load_suite(folder);
  std::vector<Sample> samples;
  std::map<std::string, std::vector<double>> stages;
  double first_pass = 0;
  int wrong = 0;
  double judging_cpu_ms = 0, compiling_cpu_ms = 0;
  for (std::size_t i = 0; i < suite->size(); i += arguments.every) {
    const SuiteEntry& entry = (*suite)[i];
    if (entry.name.find(arguments.only) == std::string::npos) continue;
    for (const char* variant : {"naive.cu", "optimised.cu"}) {
      const auto path = folder / entry.name / variant;
      if (!std::filesystem::exists(path)) continue;
      const std::string text = read_file(path).value();
      first_pass += judge.judge(*entry.task, text, path.string()).judge_ms;
      const double own = own_cpu_ms(), compilers = compilers_cpu_ms(service);
      Verdict verdict;
      for (std::size_t pass = 0; pass < arguments.passes; ++pass)
        verdict = judge.judge(*entry.task, text, path.string());
      judging_cpu_ms += (own_cpu_ms() - own) / static_cast<double>(arguments.passes);
      compiling_cpu_ms += (compilers_cpu_ms(service) - compilers) / static_cast<double>(arguments.passes);
      wrong += verdict.correct ? 0 : 1;
      samples.push_back({entry.task->tier, verdict.judge_ms, verdict.compile_ms});
      for (const auto& [stage, ms] : verdict.stages_ms) stages[stage].push_back(ms);
      if (arguments.each)
        std::fflush(stdout), std::printf("%8.1f ms  %s/%s\n", verdict.judge_ms, entry.name.c_str(), variant);
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
    if (values.empty()) continue;
    std::printf("%-14s %4zu kernels   median %7.1f ms   90 %% within %7.1f ms   longest %7.1f ms\n", name,
                values.size(), median(values), quantile(values, 0.9), quantile(values, 1));
  }
  const auto count = static_cast<double>(samples.size());
  std::printf("CPU time a kernel: judge %.1f ms, compiler %.1f ms\n", judging_cpu_ms / count, compiling_cpu_ms / count);
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
  kw::Arguments arguments;
  const auto number = [&](int at) { return at < argc ? std::max(1ul, std::strtoul(argv[at], nullptr, 10)) : 1ul; };
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--each") arguments.each = true;
    if (argument == "--small") arguments.small = true;
    if (argument == "--only" && i + 1 < argc) arguments.only = argv[i + 1];
    if (argument == "--every") arguments.every = number(i + 1);
    if (argument == "--passes") arguments.passes = number(i + 1);
  }
  return kw::run(arguments);
}
