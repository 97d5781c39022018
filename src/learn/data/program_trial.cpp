#include "learn/data/program_trial.h"

#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <optional>

#include "agents/program/write_program.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"
#include "base/progress.h"
#include "kernel/task/task_json.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class ProgramTrial {
 public:
  ProgramTrial(Judge* judge, const ProgramTrialOptions& options) : judge_(judge), options_(options) {}

  void one(std::uint64_t index) {
    ProgramRow now;
    now.drawn = 1;
    auto start = Clock::now();
    const programs::DrawnProgram drawn = programs::draw_program(options_.stream, index);
    const double draw_time = seconds_since(start);
    start = Clock::now();
    auto read = programs::read_drawn(options_.stream, index);
    // The program was drawn once more by read_drawn.
    const double read_time = std::max(seconds_since(start) - draw_time, 0.0);
    if (!read.ok()) return note(drawn, now, "not understood: " + read.error().message, draw_time, read_time, 0);
    now.understood = 1;
    start = Clock::now();
    const auto kernel = program::write_program(read->drawn.task, std::move(read->graph));
    const double write_time = seconds_since(start);
    if (!kernel.ok())
      return note(read->drawn, now, "not written: " + kernel.error().message, draw_time, read_time, write_time);
    now.written = 1;
    std::string problem = save(read->drawn.task, *kernel);
    if (judge_ != nullptr) {
      const Verdict verdict = judge_->judge(read->drawn.task, *kernel, read->drawn.task.name);
      now.judged = 1;
      now.right = verdict.correct ? 1 : 0;
      now.unsupported = verdict.status == VerdictStatus::unsupported ? 1 : 0;
      if (!verdict.correct) problem = fmt::format("{}: {}", to_string(verdict.status), verdict.summary);
    }
    note(read->drawn, now, problem, draw_time, read_time, write_time);
  }

  ProgramReport report;

 private:
  std::string save(const Task& task, const std::string& kernel) const {
    if (options_.out.empty()) return "";
    for (const auto& [ending, text] : {std::pair(".yaml", task_json(task).dump(1)), std::pair(".cu", kernel)}) {
      const auto written = write_file_atomic(options_.out / (task.name + ending), text);
      if (!written.ok()) return "not kept: " + written.error().message;
    }
    return "";
  }

  static void add(ProgramRow& row, const ProgramRow& now) {
    row.drawn += now.drawn;
    row.understood += now.understood;
    row.written += now.written;
    row.judged += now.judged;
    row.right += now.right;
    row.unsupported += now.unsupported;
  }

  void note(const programs::DrawnProgram& drawn, const ProgramRow& now, const std::string& problem, double draw_time,
            double read_time, double write_time) {
    std::lock_guard lock(mutex_);
    add(report.all, now);
    for (const programs::Family* family : drawn.families) add(report.rows[std::string(family->name)], now);
    report.stages += drawn.families.size();
    report.draw_seconds += draw_time;
    report.read_seconds += read_time;
    report.write_seconds += write_time;
    if (!problem.empty()) report.failures.push_back({drawn.index, drawn.task.family, problem, drawn.task.pytorch});
  }

  Judge* judge_;
  const ProgramTrialOptions& options_;
  std::mutex mutex_;
};

}  // namespace

Result<ProgramReport> try_programs(Judge* judge, const ProgramTrialOptions& options) {
  const auto start = Clock::now();
  if (!options.out.empty()) {
    std::error_code problem;
    std::filesystem::create_directories(options.out, problem);
    if (problem) return Error{"cannot make the folder: " + problem.message(), "", {options.out.string(), 0, 0}};
  }
  ProgramTrial trial(judge, options);
  std::optional<Progress> progress;
  if (options.show_progress) progress.emplace("programs", options.count);
  parallel_for(options.count, options.workers, [&](std::size_t at) {
    if (interrupted()) return;
    trial.one(options.first + at);
    if (progress) progress->advance();
  });
  trial.report.seconds = seconds_since(start);
  return std::move(trial.report);
}

}  // namespace kw
