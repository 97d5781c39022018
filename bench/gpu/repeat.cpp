// Do figures repeat, and is a kernel ever faster than itself?

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

void repeat(Bench& bench) {
  bench.workers = 1;
  bench.start(true, false);
  JudgeOptions options = bench.options(true);
  options.emulator_first = false;
  options.explain = false;
  Judge judge(*bench.service, options);
  Table table({"kernel", "median speedup", "least", "most", "interval of the first", "pairs within"});
  int within = 0, pairs = 0;
  for (const char* name : {"softmax", "matmul", "layer_norm", "relu", "transpose", "sum_rows", "gelu", "cross_entropy",
                           "conv2d", "adam_step"}) {
    const auto text = read_file(root() / "tasks" / name / "optimised.cu");
    if (!text.ok()) continue;
    std::vector<Verdict> verdicts;
    for (int i = 0; i < 20; ++i) verdicts.push_back(judge.judge(*task_named(name), *text, "k.cu"));
    std::vector<double> speedups;
    int here = 0, here_pairs = 0;
    for (const Verdict& a : verdicts) {
      if (!a.speedup_naive || !a.speedup_interval) continue;
      speedups.push_back(*a.speedup_naive);
      for (const Verdict& b : verdicts) {
        if (&a == &b || !b.speedup_naive) continue;
        ++here_pairs;
        here += *b.speedup_naive >= a.speedup_interval->low && *b.speedup_naive <= a.speedup_interval->high;
      }
    }
    if (speedups.empty()) {
      table.add({name, "?", verdicts.front().summary, "", "", ""});
      ++failures;
      continue;
    }
    within += here;
    pairs += here_pairs;
    const auto [least, most] = std::minmax_element(speedups.begin(), speedups.end());
    table.add({name, fmt::format("{:.3f}", median(speedups)), fmt::format("{:.3f}", *least),
               fmt::format("{:.3f}", *most),
               fmt::format("{:.3f} to {:.3f}", verdicts.front().speedup_interval->low,
                           verdicts.front().speedup_interval->high),
               fmt::format("{} of {}", here, here_pairs)});
  }
  std::cout << "## Repeatability: 20 judgements, a fresh worker each\n\n" << table.text();
  std::cout << fmt::format("\n{:.2f} % of {} pairs: one's speedup lies in the other's interval\n\n",
                           100.0 * within / std::max(pairs, 1), pairs);
  failures += within < 0.95 * pairs;
}

void self(Bench& bench, int trials) {
  bench.start(false, false);
  JudgeOptions options = bench.options(true);
  options.emulator_first = false;
  options.explain = false;
  Judge judge(*bench.service, options);
  std::vector<Job> jobs;
  std::vector<Job> suite = suite_jobs();
  keep_third_of_tasks(suite);
  for (std::size_t i = 0; static_cast<int>(jobs.size()) < trials; ++i) {
    Job job = suite[i % suite.size()];
    job.text = renewed(job.task->naive, i);
    jobs.push_back(std::move(job));
  }
  const auto verdicts = judge_all(judge, jobs, bench.threads);
  int faster = 0, slower = 0, judged = 0;
  double worst = 1;
  std::string blamed;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const Verdict& verdict = verdicts[i];
    if (!verdict.speedup_naive) continue;
    ++judged;
    if (verdict.faster_than_naive || verdict.speedup_interval->high < 1)
      blamed += fmt::format("  {}: {:.3f}, {:.3f} to {:.3f}\n", jobs[i].name, *verdict.speedup_naive,
                            verdict.speedup_interval->low, verdict.speedup_interval->high);
    faster += verdict.faster_than_naive;
    slower += verdict.speedup_interval->high < 1;
    if (std::abs(std::log(*verdict.speedup_naive)) > std::abs(std::log(worst))) worst = *verdict.speedup_naive;
  }
  std::cout << "## A kernel against itself\n\n"
            << fmt::format("{} trials, {} judged: called faster {}, slower {}; the ratio furthest from 1 is {:.4f}\n\n",
                           trials, judged, faster, slower, worst)
            << blamed;
  failures += faster + (judged != trials);
}

}  // namespace kw::gpu_bench
