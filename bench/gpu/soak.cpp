// Kernels that hang, crash and corrupt memory among good ones.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include "base/file.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/table.h"

#include "gpu_bench.h"

namespace kw::gpu_bench {

namespace {

// Faults that only device code can make, each at a random place of a good kernel's run.
std::vector<std::pair<std::string, std::string>> fault_bodies() {
  return {{"hang", "  while (n > 0 && *(volatile const float*)x > -1e30f) {}\n  if (i < n) y[i] = 0;\n"},
          {"illegal address", "  if (i < n) y[i + 40000000000ll] = x[i];\n"},
          {"misaligned", "  if (i < n) *(double*)((char*)y + 4 + 0 * i) = x[i];\n"},
          {"corrupts memory", "  if (i < n + 300) y[i] = x[i < n ? i : 0];\n"},
          {"overwrites input", "  if (i < n) { y[i] = fmaxf(x[i], 0.f); const_cast<float*>(x)[i] = 3; }\n"},
          {"null pointer", "  if (i < n) *(volatile float*)nullptr = x[i];\n"},
          {"wrong", "  if (i < n) y[i] = x[i];\n"}};
}

std::string relu_with(const std::string& body) {
  return "__global__ void relu(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         body +
         "}\nextern \"C\" void launch(const float* x, float* y, int n, cudaStream_t stream) {\n"
         "  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);\n}\n";
}

}  // namespace

void soak(Bench& bench, int kernels) {
  bench.start(false, false);
  JudgeOptions options = bench.options(true);
  options.emulator_first = false;  // it would keep the faults from the GPU
  options.explain = false;
  options.want_time = false;
  Judge judge(*bench.service, options);
  std::vector<Job> good = suite_jobs();
  append(good, corpus_jobs("correct", "correct"));
  keep_third_of_tasks(good);
  std::vector<Job> jobs;
  const auto faults = fault_bodies();
  Random random(11);
  for (int i = 0; i < kernels; ++i) {
    if (i % 10 == 5) {
      const auto& [kind, body] = faults[static_cast<std::size_t>(i / 10) % faults.size()];
      jobs.push_back(
          {kind + std::to_string(i), task_named("relu"), renewed(relu_with(body), static_cast<std::size_t>(i)), kind});
    } else {
      Job job = good[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(good.size()) - 1))];
      job.text = renewed(job.text, static_cast<std::size_t>(i));
      job.kind = "good";
      jobs.push_back(std::move(job));
    }
  }
  // Answers and inputs of the tasks are made once.
  std::vector<Job> warm;
  for (const Job& job : good)
    if (job.kind == "naive") warm.push_back(job);
  judge_all(judge, warm, bench.threads);
  const auto start = Clock::now();
  const auto verdicts = judge_all(judge, jobs, bench.threads);
  const double wall = seconds_since(start);
  std::map<std::string, std::map<std::string, int>> statuses;
  std::map<std::string, std::vector<double>> cost;
  std::string blamed;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string status(to_string(verdicts[i].status));
    ++statuses[jobs[i].kind][status];
    cost[jobs[i].kind].push_back(verdicts[i].judge_ms);
    const bool good_one = jobs[i].kind == "good";
    if (good_one != (status == "correct") || status == "internal_error") {
      ++failures;
      blamed +=
          fmt::format("  {} ({}): {}: {}\n", jobs[i].name, jobs[i].kind, status, verdicts[i].summary.substr(0, 160));
    }
  }
  std::cout << fmt::format("## Soak: {} kernels, {} of them faulty, without the emulator\n\n", kernels, kernels / 10);
  Table table({"kind", "kernels", "verdicts", "median ms", "most ms"});
  for (auto& [kind, ms] : cost) {
    std::string text;
    for (const auto& [status, count] : statuses[kind]) text += fmt::format("{} {} ", status, count);
    table.add({kind, std::to_string(ms.size()), text, fmt::format("{:.0f}", median(ms)),
               fmt::format("{:.0f}", *std::max_element(ms.begin(), ms.end()))});
  }
  std::cout << table.text()
            << fmt::format("\n{:.1f} s, {:.1f} kernels/s; workers started {}, lost {}\n", wall, kernels / wall,
                           bench.gpu->counts().started, bench.gpu->counts().lost);
  if (!blamed.empty()) std::cout << "not as they should be:\n" << blamed;
  const auto after = judge.judge(*task_named("relu"), task_named("relu")->naive, "after.cu");
  std::cout << fmt::format("afterwards the naive relu is {}\n\n", to_string(after.status));
}

}  // namespace kw::gpu_bench
