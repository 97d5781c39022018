// `evaluate MODEL`: exams on held-out tasks. `evaluate --compare A.json B.json`: is B better?

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "app/cli/command.h"
#include "app/cli/setting_options.h"
#include "app/evaluate/paired_comparison.h"
#include "app/stages/stage_settings.h"
#include "base/file.h"
#include "base/interrupt.h"

namespace kw::cli {
namespace {

struct EvaluateCommand {
  std::string model;
  ConfigurationSources sources;
  std::string out;
  std::string html;
  std::vector<std::string> compare;
  std::vector<int> first_turns;  // of A, and of B
};

ReportFacts facts_of_settings(const EvaluationSettings& settings) {
  return {{"model", settings.model},
          {"weights", settings.weights},
          {"generated on", settings.device},
          {"judge", settings.judge},
          {"attempts a task", std::to_string(settings.samples)},
          {"turns", std::to_string(settings.turns)},
          {"temperature", fmt::format("{}", settings.temperature)},
          {"seed", std::to_string(settings.seed)},
          {"longest answer", fmt::format("{} tokens", settings.max_tokens)}};
}

Result<void> write_page(const std::string& path, const FinishedEvaluation& finished) {
  HtmlReport report;
  const EvaluationSettings& settings = finished.evaluation.settings;
  report.title = settings.model + " on tasks that it never saw";
  report.subtitle = fmt::format("{} answers; kernels are {}", finished.evaluation.answers.size(), settings.judge);
  add_evaluations(report, {{settings.model, &finished.evaluation}});
  report.conversations = finished.gallery;
  report.machine = facts_of_settings(settings);
  return write_file_atomic(path, html_report(report));
}

Result<FinishedEvaluation> evaluation_of(const EvaluateCommand& command) {
  KW_TRY(const Configuration configuration, load_configuration(command.sources));
  SettingReader settings(configuration);
  KW_TRY(EvaluateArguments arguments, evaluation_arguments(settings));
  arguments.model = command.model;
  return evaluate_agents(arguments);
}

void run_evaluation(Context& context, const EvaluateCommand& arguments) {
  const auto done = evaluation_of(arguments);
  if (!done.ok()) {
    fail(context, done.error());
    if (interrupted()) context.exit_code = exit_interrupted;
    return;
  }
  const FinishedEvaluation& finished = *done;
  const Json json = kw::to_json(finished);
  if (!arguments.out.empty()) {
    const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    if (const auto written = write_file_atomic(arguments.out, text); !written.ok())
      return fail(context, written.error());
  }
  if (!arguments.html.empty())
    if (const auto written = write_page(arguments.html, finished); !written.ok()) return fail(context, written.error());
  if (context.json) {
    Json shown = json;
    if (!arguments.out.empty()) shown.erase("answers");  // they are in the file
    print_json(shown);
  } else {
    if (!finished.evaluation.answers.empty()) std::cout << evaluation_text(finished.evaluation);
    if (finished.tester) std::cout << "\nTester\n" << tester_text(*finished.tester);
  }
  context.exit_code = interrupted() ? static_cast<int>(exit_interrupted) : static_cast<int>(exit_good);
}

// One file, or several of models that differ by their seed alone.
Result<ModelEvaluation> read_side(const EvaluateCommand& arguments, std::size_t side) {
  std::vector<ModelEvaluation> parts;
  std::stringstream names(arguments.compare[side]);
  for (std::string name; std::getline(names, name, ',');) {
    KW_TRY(ModelEvaluation part, read_evaluation(name));
    parts.push_back(std::move(part));
  }
  KW_TRY(ModelEvaluation joined, join_evaluations(std::move(parts)));
  if (arguments.first_turns.empty()) return joined;
  return first_turns(std::move(joined), arguments.first_turns[std::min(side, arguments.first_turns.size() - 1)]);
}

void run_comparison(Context& context, const EvaluateCommand& arguments) {
  const auto a = read_side(arguments, 0), b = read_side(arguments, 1);
  for (const auto* read : {&a, &b})
    if (!read->ok()) return fail(context, read->error());
  const auto comparisons = compare_evaluations(*a, *b);
  if (!comparisons.ok()) return fail(context, comparisons.error());
  if (!arguments.html.empty()) {
    HtmlReport report;
    report.title = fmt::format("{} against {}", b->settings.model, a->settings.model);
    const std::string name_a = "A: " + a->settings.model, name_b = "B: " + b->settings.model;
    add_comparisons(report, name_a, name_b, *comparisons);
    add_evaluations(report, {{name_a, &*a}, {name_b, &*b}});
    report.machine = facts_of_settings(b->settings);
    if (const auto written = write_file_atomic(arguments.html, html_report(report)); !written.ok())
      return fail(context, written.error());
  }
  if (!context.json) {
    std::cout << comparison_text(*a, *b, *comparisons);
    return;
  }
  Json json = Json::array();
  for (const PairedComparison& comparison : *comparisons) json.push_back(to_json(comparison));
  print_json({{"a", a->settings.model}, {"b", b->settings.model}, {"comparisons", json}});
}

}  // namespace

void add_evaluate_command(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("evaluate", "How good a model is on tasks that it never saw; compares two results");
  auto arguments = std::make_shared<EvaluateCommand>();
  add_json_flag(*command, context);
  command->add_option(
      "MODEL", arguments->model,
      "tiny, smollm2, a run's name or folder, a folder with agents.json, a model, or URL#NAME of an endpoint");
  add_setting_options(*command, SettingUser::evaluate, arguments->sources);
  command->add_option("--out", arguments->out, "writes everything as JSON, for --compare");
  command->add_option("--html", arguments->html, "writes a page with tables, speedups and conversations");
  command
      ->add_option("--compare", arguments->compare,
                   "two files of --out: paired tests over their common tasks; each may be "
                   "several files with commas between, of other seeds of training")
      ->expected(2);
  command
      ->add_option("--first-turns", arguments->first_turns,
                   "with --compare: only so many turns of each conversation count; two numbers: of A, and of B")
      ->expected(1, 2)
      ->check(CLI::Range(1, 20));
  command->footer(
      "Examples:\n"
      "  kernelwright evaluate tiny --tasks 200 --out tiny.json\n"
      "  kernelwright evaluate tiny --exam optimizer --split composition\n"
      "  kernelwright evaluate tiny --samples 4 --turns 2 --temperature 0.8 --out turns.json --html turns.html\n"
      "  kernelwright evaluate --compare before.json after.json\n"
      "  kernelwright evaluate --compare s1/exams/step-00000000.json,s2/exams/step-00000000.json "
      "s1/exams/step-00000030.json,s2/exams/step-00000030.json --first-turns 1");
  command->callback([&context, arguments] {
    if (arguments->model.empty() == arguments->compare.empty())
      return fail(context,
                  Error{"a MODEL is needed, or --compare with two files", "see kernelwright evaluate --help", {}});
    if (arguments->compare.empty()) return run_evaluation(context, *arguments);
    run_comparison(context, *arguments);
  });
}

}  // namespace kw::cli
