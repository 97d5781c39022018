// How many kernels a second.

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

void speed(Bench& bench, int kernels, const std::string& only) {
  bench.start(false, false);
  std::vector<Job> good = suite_jobs();
  append(good, corpus_jobs("correct", "correct"));
  keep_third_of_tasks(good);
  Table table({"what", "kernels", "seconds", "kernels/s", "cores busy", "median ms", "GPU ms a kernel", "not correct"});
  std::map<std::string, std::vector<double>> stages;
  struct Mode {
    const char* name;
    bool emulator, time, explain;
  };
  for (const Mode& mode :
       {Mode{"values, emulator first", true, false, false}, Mode{"values and time, emulator first", true, true, false},
        Mode{"values, GPU alone", false, false, false},
        Mode{"values, time, explanation, emulator first", true, true, true}}) {
    if (!only.empty() && only != mode.name) continue;
    JudgeOptions options = bench.options(true);
    options.emulator_first = mode.emulator;
    options.want_time = mode.time;
    options.explain = mode.explain;
    Judge judge(*bench.service, options);
    // Each task once beforehand.
    std::vector<Job> warm;
    for (const Job& job : good)
      if (job.kind == "naive")
        for (std::size_t copy = 0; copy < 8; ++copy) {
          warm.push_back(job);  // the four sets of cases
          warm.back().text = renewed(job.text, 900000 + copy);
        }
    const auto warm_start = Clock::now();
    judge_all(judge, warm, bench.threads);
    const double warm_s = seconds_since(warm_start);
    std::vector<Job> jobs;
    for (int i = 0; i < kernels; ++i) {
      Job job = good[static_cast<std::size_t>(i) % good.size()];
      job.text =
          renewed(job.text, static_cast<std::size_t>(i) +
                                100000 * static_cast<std::size_t>(mode.time + 2 * mode.emulator + 4 * mode.explain));
      jobs.push_back(std::move(job));
    }
    const double cpu = cpu_seconds();
    const auto start = Clock::now();
    const auto verdicts = judge_all(judge, jobs, bench.threads);
    const double wall = seconds_since(start);
    std::vector<double> ms;
    int bad = 0;
    double gpu_ms = 0;
    for (const Verdict& verdict : verdicts) {
      ms.push_back(verdict.judge_ms);
      bad += !verdict.correct;
      for (const auto& [stage, stage_ms] : verdict.stages_ms) {
        stages[std::string(mode.name) + ": " + stage].push_back(stage_ms);
        if (stage == "alone on the GPU" || stage.rfind("GPU, ", 0) == 0) gpu_ms += stage_ms;
      }
    }
    table.add({mode.name, std::to_string(kernels), fmt::format("{:.1f} (tasks before: {:.1f})", wall, warm_s),
               fmt::format("{:.1f}", kernels / wall), fmt::format("{:.1f}", (cpu_seconds() - cpu) / wall),
               fmt::format("{:.0f}", median(ms)), fmt::format("{:.1f}", gpu_ms / kernels), std::to_string(bad)});
    std::cout << mode.name << ": " << fmt::format("{:.1f} kernels/s\n", kernels / wall) << std::flush;
    for (std::size_t i = 0; i < verdicts.size(); ++i)
      if (!verdicts[i].correct && bad < 20)
        std::cout << "  " << jobs[i].name << ": " << verdicts[i].summary.substr(0, 150) << "\n";
  }
  std::cout << "## Speed\n\n" << table.text() << "\nmedian ms of the stages (with waiting):\n";
  for (auto& [stage, ms] : stages) std::cout << fmt::format("  {:<70} {:.1f}\n", stage, median(ms));
  std::cout << "\n";
}

}  // namespace kw::gpu_bench
