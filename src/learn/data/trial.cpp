#include "learn/data/trial.h"

#include <fmt/format.h>

#include <chrono>
#include <mutex>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"
#include "base/progress.h"

namespace kw {

TrialReport run_trial(Judge& judge, const TrialOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  StreamOptions stream_options = options.stream;
  stream_options.naive_too = true;
  const ExampleStream stream(stream_options);
  TrialReport report;
  std::mutex mutex;
  std::optional<Progress> progress;
  if (options.show_progress) progress.emplace("tasks", options.count);

  const auto note = [&](const DrawnTask& drawn, Level level, const std::string& kernel, const Verdict& verdict) {
    const std::string family(name_of(drawn.problem.family)), level_name(name_of(level));
    std::lock_guard lock(mutex);
    TrialRow& row = report.rows[{family, level_name}];
    row.family = family;
    row.level = level_name;
    ++row.judged;
    ++report.judged;
    row.correct += verdict.correct ? 1 : 0;
    report.correct += verdict.correct ? 1 : 0;
    row.unsupported += verdict.status == VerdictStatus::unsupported ? 1 : 0;
    if (verdict.speedup_naive) row.speedups.push_back(*verdict.speedup_naive);
    if (verdict.correct) return;
    report.failures.push_back(
        {drawn.index, family, level_name, std::string(to_string(verdict.status)), verdict.summary});
    if (options.keep.empty()) return;
    const std::string name = fmt::format("{}_{}_{}.cu", family, level_name, drawn.index);
    std::error_code ignored;
    std::filesystem::create_directories(options.keep, ignored);
    const std::string text = kernel + "\n/*\n" + drawn.task.pytorch + "\n" + verdict.feedback + "\n*/\n";
    (void)write_file_atomic(options.keep / name, text);
  };
  parallel_for(options.count, options.workers, [&](std::size_t at) {
    if (interrupted()) return;
    const DrawnTask drawn = stream.task_at(options.first + at);
    for (const Level level : levels_of(drawn.problem)) {
      if (options.only_level && level != *options.only_level) continue;
      const std::string kernel = stream.kernel_for(drawn, level, options.house_style ? house_style : 1);
      note(drawn, level, kernel, judge.judge(drawn.task, kernel, drawn.task.name));
    }
    if (progress) progress->advance(1, drawn.task.name);
  });
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace kw
