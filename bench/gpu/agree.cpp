// Do emulator and GPU say the same?

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

// The emulator, the GPU alone, and both one after the other.
void agree(Bench& bench) {
  bench.start(false, false);
  std::vector<Job> jobs = suite_jobs();
  append(jobs, corpus_jobs("correct", "correct"));
  append(jobs, corpus_jobs("bugs", "bug"));
  keep_third_of_tasks(jobs);
  append(jobs, corpus_jobs("exploits", "exploit"));
  JudgeOptions emulator = bench.options(false), alone = bench.options(true), both = bench.options(true);
  emulator.want_time = alone.want_time = both.want_time = false;
  alone.emulator_first = false;
  Judge by_emulator(*bench.service, emulator), by_gpu(*bench.service, alone), by_both(*bench.service, both);
  auto start = Clock::now();
  const auto emulated = judge_all(by_emulator, jobs, bench.threads);
  const double emulator_s = seconds_since(start);
  std::cout << fmt::format("{} kernels in the emulator: {:.1f} s\n", jobs.size(), emulator_s) << std::flush;
  start = Clock::now();
  const auto executed = judge_all(by_gpu, jobs, bench.threads);
  const double gpu_s = seconds_since(start);
  std::cout << fmt::format("on the GPU alone: {:.1f} s\n", gpu_s) << std::flush;
  start = Clock::now();
  auto combined = judge_all(by_both, jobs, bench.threads);
  const double both_s = seconds_since(start);
  // Cheating pays where time is measured.
  JudgeOptions timed = both;
  timed.want_time = true;
  Judge with_time(*bench.service, timed);
  in_parallel(jobs.size(), bench.threads, [&](std::size_t i) {
    if (jobs[i].kind == "exploit") combined[i] = with_time.judge(*jobs[i].task, jobs[i].text, jobs[i].name + ".cu");
  });
  std::map<std::string, std::map<std::string, int>> counts;
  std::map<std::string, int> total, same, same_both;
  Table table({"kernel", "emulator", "GPU alone", "both"});
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string kind = jobs[i].kind;
    ++total[kind];
    const std::string e(to_string(emulated[i].status)), g(to_string(executed[i].status)),
        b(to_string(combined[i].status));
    same[kind] += e == g;
    same_both[kind] += e == b;
    ++counts[kind][e + " / " + g];
    const bool honest = kind == "naive" || kind == "optimised" || kind == "correct";
    // `unsupported` says nothing about a kernel: too much work for the emulator.
    const bool bad = (honest && ((e != "correct" && e != "unsupported") || g != "correct" || b != "correct")) ||
                     (!honest && (b == "correct" || e == "correct")) ||
                     (kind != "exploit" && e != b && e != "unsupported");
    failures += bad;
    if (bad || e != g)
      table.add(
          {jobs[i].name + (bad ? " (!)" : ""), e, g + (g == e ? "" : ": " + executed[i].summary.substr(0, 70)), b});
  }
  std::cout << "## Agreement\n\n";
  Table summary({"kernels", "number", "emulator = emulator then GPU", "emulator = GPU alone"});
  for (const auto& [kind, number] : total)
    summary.add({kind, std::to_string(number), std::to_string(same_both[kind]), std::to_string(same[kind])});
  std::cout << summary.text() << "\nemulator status / GPU-alone status:\n";
  for (const auto& [kind, pairs] : counts)
    for (const auto& [pair, number] : pairs) std::cout << fmt::format("  {:<10} {:<34} {}\n", kind, pair, number);
  std::cout << fmt::format(
                   "\nseconds: emulator {:.1f}, GPU alone {:.1f}, both {:.1f}; workers lost {}\n\nWhere they differ:\n",
                   emulator_s, gpu_s, both_s, bench.gpu->counts().lost)
            << table.text() << "\n";
}

}  // namespace kw::gpu_bench
