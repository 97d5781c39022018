#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <iostream>

#include "app/cli/command.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"
#include "base/progress.h"
#include "base/table.h"
#include "kernel/judge/measure_corpus.h"
#include "kernel/judge/measured_kernels.h"
#include "kernel/performance/model_errors.h"
#include "kernel/performance/profile_text.h"
#include "kernel/task/task_file.h"

namespace kw::cli {
namespace {

struct CalibrateArguments {
  std::string measured;
  std::string measure;
  std::string profile = "h200";
  std::string out;
  std::string rows;
  int folds = 5;
};

constexpr std::size_t worst_shown = 10;
// Chains are counted for given latencies; fitted ones may make other paths the longest, so they are counted again.
constexpr int count_rounds = 3;

Json to_json(const ModelErrors& errors) {
  return {{"times", errors.times},
          {"pairs", errors.pairs},
          {"ranking", errors.ranking()},
          {"mean_percent", errors.mean_percent},
          {"spearman", errors.spearman},
          {"kendall", errors.kendall},
          {"median_factor", errors.median_factor},
          {"factor_90", errors.factor_90}};
}

// The modelled times of every plan, by the profile that was started from and by ones fitted without the plan's task.
struct Comparison {
  std::vector<double> before, held_out, after;
};

std::vector<double> times_by(const DeviceProfile& profile, const std::vector<MeasuredPlan>& plans) {
  std::vector<double> times;
  for (const MeasuredPlan& plan : plans) times.push_back(plan_us(profile, plan.counts));
  return times;
}

void print_errors(const std::vector<MeasuredPlan>& plans, const Comparison& modelled) {
  Table table({"times", "constants", "n", "pairs right", "mean error", "Spearman", "Kendall", "median factor", "90 %"},
              {Align::left, Align::left, Align::right, Align::right, Align::right, Align::right, Align::right,
               Align::right, Align::right});
  for (const bool full_size_only : {true, false})
    for (const auto& [constants, times] :
         {std::pair("before", &modelled.before), std::pair("fitted without the task", &modelled.held_out),
          std::pair("fitted on all", &modelled.after)}) {
      const ModelErrors errors = model_errors(plans, *times, full_size_only);
      table.add({full_size_only ? "full sizes" : "all sizes", constants, std::to_string(errors.times),
                 fmt::format("{}/{} ({:.1f} %)", errors.pairs_right, errors.pairs, 100 * errors.ranking()),
                 fmt::format("{:.1f} %", errors.mean_percent), fmt::format("{:.4f}", errors.spearman),
                 fmt::format("{:.4f}", errors.kendall), fmt::format("{:.3f}", errors.median_factor),
                 fmt::format("{:.2f}", errors.factor_90)});
    }
  std::cout << table.text() << "\nFarthest off, held out:\n";
  Table worst({"task", "kernel", "size", "measured us", "before", "held out", "factor"},
              {Align::left, Align::left, Align::left, Align::right, Align::right, Align::right, Align::right});
  for (std::size_t i : farthest_off(plans, modelled.held_out, worst_shown))
    worst.add({plans[i].task, plans[i].kernel, plans[i].size, fmt::format("{:.1f}", plans[i].measured_us),
               fmt::format("{:.1f}", modelled.before[i]), fmt::format("{:.1f}", modelled.held_out[i]),
               fmt::format("{:.2f}", modelled.held_out[i] / plans[i].measured_us)});
  std::cout << worst.text();
}

void print_constants(const std::vector<ProfileChange>& changes) {
  Table table({"constant", "before", "fitted"}, {Align::left, Align::right, Align::right});
  for (const ProfileChange& change : changes)
    table.add({change.key, number_text(change.before), number_text(change.after)});
  std::cout << "\n" << table.text();
}

// One JSON line a measurement, for whoever looks for what the model misses.
Result<void> write_rows(const std::string& path, const std::vector<MeasuredPlan>& plans, const Comparison& modelled,
                        const DeviceProfile& fitted) {
  std::string text;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    Json json{{"task", plans[i].task},
              {"kernel", plans[i].kernel},
              {"size", plans[i].size},
              {"kind", plans[i].kind},
              {"us", plans[i].measured_us},
              {"before_us", modelled.before[i]},
              {"held_out_us", modelled.held_out[i]},
              {"after_us", modelled.after[i]}};
    for (const StepTime& step : step_times(fitted, plans[i].counts)) {
      Json terms{{"us", step.us}, {"limiter", step.kernel.limiter}};
      for (const TimeTerm& term : step.kernel.terms)
        if (term.us > 0.02 * step.us) terms[term.name] = term.us;
      json["steps"].push_back(std::move(terms));
    }
    text += json.dump() + "\n";
  }
  return write_file_atomic(path, text);
}

std::string today() {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  return fmt::format("{}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

// Measures on this machine's GPU and keeps the times in the file.
Result<void> measure_into(const std::string& file, const DeviceProfile& profile) {
  const int cores = core_count();
  ServiceOptions service_options;
  service_options.pool.workers = cores;
  CompileService service(service_options);
  GpuBackendOptions options;
  options.pool.workers = 3;
  KW_TRY(const auto gpu, GpuBackend::start(service, options));
  KW_TRY(const auto suite, suite_folder());
  KW_TRY(const auto corpus, calibration_corpus(suite));
  Progress progress("kernels measured", corpus.size());
  const MeasuredCorpus made = measure_corpus(service, *gpu, profile, corpus, 2 * cores,
                                             [&](const std::string& task) { progress.advance(1, task); });
  progress.finish();
  for (const std::string& problem : made.problems) std::cerr << "not measured: " << problem << "\n";
  if (interrupted()) return Error{"interrupted", "", {}};
  if (made.times == 0) return Error{"nothing could be measured", "", {}};
  return write_file_atomic(file, made.json_lines);
}

void run_calibrate(Context& context, CalibrateArguments arguments) {
  const auto start = load_profile(arguments.profile);
  if (!start.ok()) return fail(context, start.error());
  if (arguments.measured.empty() == arguments.measure.empty())
    return fail(context,
                Error{"give either --measured FILE or --measure FILE", "see kernelwright calibrate --help", {}});
  if (!arguments.measure.empty()) {
    if (const auto done = measure_into(arguments.measure, *start); !done.ok()) {
      fail(context, done.error());
      if (interrupted()) context.exit_code = exit_interrupted;
      return;
    }
    arguments.measured = arguments.measure;
  }
  const auto measurements = read_measurements(arguments.measured);
  if (!measurements.ok()) return fail(context, measurements.error());
  const auto suite = suite_folder();
  if (!suite.ok()) return fail(context, suite.error());
  const int cores = core_count();
  CompileService service;
  CountedMeasurements counted;
  Comparison modelled;
  DeviceProfile fitted = *start;
  for (int round = 0; round < count_rounds && !interrupted(); ++round) {
    Progress progress(fmt::format("round {} of {}: times counted", round + 1, count_rounds), measurements->size());
    counted = count_measurements(service, *suite, fitted, *measurements, cores,
                                 [&](std::size_t count, const std::string& task) { progress.advance(count, task); });
    progress.finish();
    if (counted.plans.empty()) break;
    if (round == 0) modelled.before = times_by(*start, counted.plans);
    std::vector<const MeasuredPlan*> all;
    for (const MeasuredPlan& plan : counted.plans) all.push_back(&plan);
    fitted = fit(*start, fitted, all);
  }
  const std::vector<MeasuredPlan>& plans = counted.plans;
  if (!interrupted() && !plans.empty()) {
    std::cerr << fmt::format("fitting {} constants to {} times, {} folds\n", fitted_constants().size(), plans.size(),
                             arguments.folds);
    modelled.held_out = cross_validate(*start, plans, arguments.folds, cores);
  }
  if (interrupted()) {
    fail(context, Error{"interrupted; nothing was written", "", {}});
    context.exit_code = exit_interrupted;
    return;
  }
  for (const std::string& problem : counted.problems) std::cerr << "left out: " << problem << "\n";
  if (plans.empty()) return fail(context, Error{"no measured kernel could be modelled", "", {}});
  modelled.after = times_by(fitted, plans);
  const ModelErrors errors = model_errors(plans, modelled.held_out, true);
  fitted.uncertainty = errors.factor_90 - 1;
  const std::vector<ProfileChange> changes = changes_of(*start, fitted);
  if (!arguments.rows.empty())
    if (const auto written = write_rows(arguments.rows, plans, modelled, fitted); !written.ok())
      return fail(context, written.error());
  if (!arguments.out.empty()) {
    const auto text = read_profile_text(arguments.profile);
    if (!text.ok()) return fail(context, text.error());
    const FitNote note{std::filesystem::path(arguments.measured).filename().string(), today(), arguments.folds, errors};
    if (const auto written = write_file_atomic(arguments.out, with_changes(*text, changes, note)); !written.ok())
      return fail(context, written.error());
  }
  if (context.json) {
    Json json{{"times", plans.size()}, {"left_out", counted.problems}, {"folds", arguments.folds}};
    for (const bool full_size_only : {true, false}) {
      Json& group = json[full_size_only ? "full_sizes" : "all_sizes"];
      group["before"] = to_json(model_errors(plans, modelled.before, full_size_only));
      group["held_out"] = to_json(model_errors(plans, modelled.held_out, full_size_only));
      group["fitted_on_all"] = to_json(model_errors(plans, modelled.after, full_size_only));
    }
    for (std::size_t i : farthest_off(plans, modelled.held_out, worst_shown))
      json["worst"].push_back({{"task", plans[i].task},
                               {"kernel", plans[i].kernel},
                               {"size", plans[i].size},
                               {"us", plans[i].measured_us},
                               {"held_out_us", modelled.held_out[i]}});
    for (const ProfileChange& change : changes)
      json["constants"][change.key] = {{"before", change.before}, {"fitted", change.after}};
    return print_json(json);
  }
  print_errors(plans, modelled);
  print_constants(changes);
  if (!arguments.out.empty()) std::cout << "\nwritten: " << arguments.out << "\n";
}

}  // namespace

void add_calibrate_command(CLI::App& app, Context& context) {
  auto* calibrate = app.add_subcommand(
      "calibrate", "Fits a device profile to measured kernel times and reports its errors on held-out tasks");
  auto arguments = std::make_shared<CalibrateArguments>();
  add_json_flag(*calibrate, context);
  calibrate->add_option("--measured", arguments->measured, "times from a file of JSON lines: task, kernel, size, us");
  calibrate->add_option("--measure", arguments->measure,
                        "measure the suite, the micro-benchmarks and the tests' kernels on this GPU, into this file");
  add_gpu_option(*calibrate);
  calibrate->add_option("--profile", arguments->profile, "the profile to start from, or its YAML file")
      ->capture_default_str();
  calibrate->add_option("--out", arguments->out, "write the fitted profile here");
  calibrate->add_option("--rows", arguments->rows, "write every time with its terms, one JSON line each");
  calibrate->add_option("--folds", arguments->folds, "number of folds; the tasks of each fold are held out once")
      ->check(CLI::Range(2, 20))
      ->capture_default_str();
  calibrate->footer(
      "Examples:\n"
      "  kernelwright calibrate --measure times.jsonl --out profiles/mine.yaml      on a machine with a GPU\n"
      "  kernelwright calibrate --measured bench/results/kernels_h200.jsonl --out profiles/h200.yaml");
  calibrate->callback([&context, arguments] { run_calibrate(context, *arguments); });
}

}  // namespace kw::cli
