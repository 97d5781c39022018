#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <set>

#include "agents/agent/prompt_values.h"
#include "agents/grammar/stream.h"
#include "app/cli/command.h"
#include "app/cli/data_draw.h"
#include "app/cli/data_export.h"
#include "app/cli/data_export_verl.h"
#include "app/cli/python_command.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"
#include "base/progress.h"
#include "base/table.h"
#include "kernel/compile/service.h"
#include "kernel/judge/judge_session.h"
#include "kernel/task/task_file.h"
#include "kernel/task/task_json.h"
#include "learn/data/leaks.h"
#include "learn/data/search_pairs.h"
#include "learn/data/store.h"
#include "learn/data/trial.h"

namespace kw::cli {
namespace {

struct DataArguments {
  std::uint64_t seed = 1;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::string split = "train";
  std::vector<std::string> families;
  std::string level;
  bool house_style = false;
  std::string keep;
  int workers = 0;
  std::string folder;
  std::string task;
  std::string kind;
  std::string out;
  std::string format;
  std::string style;
  std::string framework;
  std::string preset;
  std::uint64_t shard_tasks = 50;
  int mutants = 3;
  double formulas = 0;
};

Result<StreamOptions> stream_options(const DataArguments& arguments) {
  StreamOptions options;
  options.seed = arguments.seed;
  const auto split = split_from_name(arguments.split);
  if (!split || *split == DataSplit::suite)
    return Error{"there is no split '" + arguments.split + "'", "train, composition or novel", {}};
  options.split = *split;
  const auto novel = novel_families();
  for (const std::string& name : arguments.families) {
    const auto family = family_from_name(name);
    if (!family) return Error{"there is no family '" + name + "'", "see kernelwright data families", {}};
    const bool is_novel = std::find(novel.begin(), novel.end(), *family) != novel.end();
    if (is_novel != (options.split == DataSplit::novel))
      return Error{
          "the split " + arguments.split + " has no family '" + name + "'", "see kernelwright data families", {}};
    options.families.push_back(*family);
  }
  return options;
}

Result<std::optional<Level>> level_option(const DataArguments& arguments) {
  std::optional<Level> level;
  if (arguments.level.empty()) return level;
  level = level_from_name(arguments.level);
  if (!level)
    return Error{
        "there is no level '" + arguments.level + "'", fmt::format("{}", fmt::join(all_level_names(), ", ")), {}};
  return level;
}

void show_examples(Context& context, const DataArguments& arguments) {
  const auto options = stream_options(arguments);
  if (!options.ok()) return fail(context, options.error());
  const auto level = level_option(arguments);
  if (!level.ok()) return fail(context, level.error());
  const ExampleStream stream(*options);
  Json all = Json::array();
  for (std::uint64_t i = 0; i < arguments.count; ++i) {
    Example example = stream.example_at(arguments.first + i);
    const std::vector<Level> levels = levels_of(example.drawn.problem);
    if (*level && std::find(levels.begin(), levels.end(), **level) != levels.end()) {
      example.level = **level;
      example.kernel = stream.kernel_for(example.drawn, example.level, 1);
    }
    if (arguments.house_style) example.kernel = stream.kernel_for(example.drawn, example.level, house_style);
    if (context.json) {
      all.push_back(
          {{"index", example.drawn.index},
           {"structure", example.drawn.structure},
           {"level", name_of(example.level)},
           {"task", task_json(example.drawn.task)},
           {"operation", compact_signature(example.drawn.task) + "\n" + compact_operation(example.drawn.task)},
           {"kernel", example.kernel}});
    } else {
      std::cout << fmt::format(
          "=== {} {} {}\n{}\n{}\n", example.drawn.index, example.drawn.structure, name_of(example.level),
          compact_signature(example.drawn.task) + "\n" + compact_operation(example.drawn.task), example.kernel);
    }
  }
  if (context.json) print_json(all);
}

std::uint64_t total_of(const std::map<std::string, std::uint64_t>& counts) {
  std::uint64_t total = 0;
  for (const auto& [name, count] : counts) total += count;
  return total;
}

void print_summary(const Context& context, const StoreSummary& summary) {
  const std::uint64_t kept = total_of(summary.kept), dropped = total_of(summary.dropped);
  const double rate = summary.seconds > 0 ? static_cast<double>(kept) / summary.seconds : 0;
  const double share = kept + dropped > 0 ? static_cast<double>(dropped) / static_cast<double>(kept + dropped) : 0;
  const double right =
      summary.written > 0 ? static_cast<double>(summary.right) / static_cast<double>(summary.written) : 0;
  if (context.json)
    return print_json({{"tasks", summary.tasks},
                       {"tasks_known", summary.tasks_known},
                       {"kept", summary.kept},
                       {"dropped", summary.dropped},
                       {"dropped_share", share},
                       {"families_and_levels", summary.pairs.size()},
                       {"kernels_written", summary.written},
                       {"kernels_right", summary.right},
                       {"examples_per_second", rate},
                       {"seconds", summary.seconds},
                       {"interrupted", summary.interrupted}});
  Table table({"", "examples"}, {Align::left, Align::right});
  for (const auto& [kind, count] : summary.kept) table.add({kind, std::to_string(count)});
  for (const auto& [reason, count] : summary.dropped) table.add({"dropped: " + reason, std::to_string(count)});
  std::cout << table.text();
  std::cout << fmt::format("{} tasks judged, {} were done before, in {}\n", summary.tasks, summary.tasks_known,
                           duration_text(summary.seconds));
  if (kept > 0)
    std::cout << fmt::format(
        "{} examples, {:.1f} a second; {:.1f} % dropped; {} family and level pairs; {} of {} kernels of the writers "
        "are right ({:.2f} %)\n",
        kept, rate, 100 * share, summary.pairs.size(), summary.right, summary.written, 100 * right);
  if (summary.interrupted) std::cout << "stopped; the same command resumes\n";
}

JudgeSessionOptions training_judge(int workers) {
  return {.backend = "emulator", .profile = "h200", .workers = workers, .purpose = JudgePurpose::training};
}

void make_data(Context& context, const DataArguments& arguments) {
  const auto stream = stream_options(arguments);
  if (!stream.ok()) return fail(context, stream.error());
  StoreOptions options;
  options.folder = arguments.folder;
  options.stream = *stream;
  options.tasks = arguments.count;
  if (!arguments.preset.empty()) options.tasks = preset_tasks(arguments.preset).value();
  options.shard_tasks = arguments.shard_tasks;
  options.mutants = arguments.mutants;
  options.formulas = arguments.formulas;
  options.workers = arguments.workers > 0 ? arguments.workers : core_count();
  if (const auto suite = suite_folder(); suite.ok()) options.suite = *suite;
  const auto session = JudgeSession::start(training_judge(options.workers));
  if (!session.ok()) return fail(context, session.error());
  const auto summary = make_store((*session)->service(), (*session)->judge().options(), options);
  if (!summary.ok()) return fail(context, summary.error());
  print_summary(context, *summary);
  context.exit_code = summary->interrupted ? exit_interrupted : exit_good;
}

// Calls `use` for every line of the store.
Result<void> for_each_line(const std::string& folder, const std::function<void(const Json&)>& use) {
  KW_TRY(const std::vector<Shard> shards, open_store(folder));
  if (shards.empty()) return Error{"no finished shard here", "make one with kernelwright data make", {folder, 0, 0}};
  for (const Shard& shard : shards) {
    KW_TRY(const std::vector<Json> lines, read_shard(shard));
    for (const Json& line : lines) use(line);
  }
  return {};
}

void show_stats(Context& context, const DataArguments& arguments) {
  std::map<std::string, std::map<std::string, std::uint64_t>> counts;  // by what is counted
  const auto read = for_each_line(arguments.folder, [&](const Json& line) {
    for (const char* key : {"kind", "writer", "level", "mistake"})
      if (line.contains(key)) ++counts[key][line[key].get<std::string>()];
    if (line.value("kind", "") == "report") ++counts["verdict"][line["verdict"].value("status", "")];
  });
  if (!read.ok()) return fail(context, read.error());
  if (context.json) return print_json(Json(counts));
  Table table({"by", "", "examples"}, {Align::left, Align::left, Align::right});
  for (const auto& [key, values] : counts)
    for (const auto& [value, count] : values) table.add({key, value, std::to_string(count)});
  std::cout << table.text();
}

Result<std::uint64_t> export_verl(const DataArguments& arguments) {
  VerlExport wanted;
  wanted.folder = arguments.folder;
  wanted.kind = arguments.kind;
  KW_TRY(wanted.stream, stream_options(arguments));
  wanted.first = arguments.first;
  wanted.count = arguments.count;
  if (arguments.style == "compact") wanted.style = PromptStyle::compact;
  wanted.out = arguments.out;
  return export_for_verl(wanted);
}

Result<std::uint64_t> export_lines(const DataArguments& arguments) {
  if (arguments.folder.empty())
    return Error{"which store?", "name its folder; tasks without a store are exported with --for verl", {}};
  ExportOptions options;
  options.folder = arguments.folder;
  options.kind = arguments.kind;
  options.out = arguments.out;
  if (arguments.format == "parquet") options.format = ExportFormat::parquet;
  if (!arguments.style.empty())
    options.style = arguments.style == "compact" ? PromptStyle::compact : PromptStyle::chatml;
  return export_store(options);
}

void export_data(Context& context, const DataArguments& arguments) {
  const auto written = arguments.framework == "verl" ? export_verl(arguments) : export_lines(arguments);
  if (!written.ok()) return fail(context, written.error());
  if (arguments.out.empty()) return;
  if (context.json) return print_json({{"examples", *written}, {"file", arguments.out}});
  std::cout << *written << " examples\n";
}

// What the kernels of its held-out tasks compile to; nothing where there is no suite.
Result<std::set<std::string>> code_of_the_suite() {
  const auto suite = suite_folder();
  if (!suite.ok()) return std::set<std::string>();
  ServiceOptions options;
  options.pool.workers = 1;
  CompileService service(options);
  return held_out_code(service, *suite);
}

void take_from_search(Context& context, const DataArguments& arguments) {
  const auto task = task_from_argument(arguments.task);
  if (!task.ok()) return fail(context, task.error());
  SearchPairOptions options;
  auto code = code_of_the_suite();
  if (!code.ok()) return fail(context, code.error());
  options.held_out_code = std::move(*code);
  const auto pairs = pairs_of_searches(arguments.folder, *task, options);
  if (!pairs.ok()) return fail(context, pairs.error());
  if (const auto written = write_search_store(arguments.out, *pairs); !written.ok())
    return fail(context, written.error());
  if (context.json)
    return print_json({{"kernels", pairs->kernels},
                       {"right", pairs->right},
                       {"examples", pairs->lines.size()},
                       {"of_constants", pairs->of_constants},
                       {"dropped", pairs->dropped}});
  std::cout << fmt::format("{} examples from {} kernels, of which {} are right; {} change constants alone\n",
                           pairs->lines.size(), pairs->kernels, pairs->right, pairs->of_constants);
}

void show_leaks(Context& context, const DataArguments& arguments) {
  LeakOptions options;
  auto code = code_of_the_suite();
  if (!code.ok()) return fail(context, code.error());
  options.held_out_code = std::move(*code);
  const auto report = check_leaks(arguments.folder, options);
  if (!report.ok()) return fail(context, report.error());
  context.exit_code = report->leaks_found == 0 ? exit_good : exit_not_good;
  if (context.json)
    return print_json({{"examples", report->examples},
                       {"structures", report->structures},
                       {"tasks", report->tasks},
                       {"tasks_not_drawn", report->tasks_not_drawn},
                       {"held_out_tasks", report->held_out_tasks},
                       {"held_out_kernels", report->kernels_known},
                       {"leaks_found", report->leaks_found},
                       {"leaks", report->leaks}});
  for (const std::string& leak : report->leaks) std::cout << leak << "\n";
  std::cout << fmt::format(
      "{} examples of {} structures, compared with {} held-out tasks and the code of {} held-out kernels: {} leaks\n",
      report->examples, report->structures, report->held_out_tasks, report->kernels_known, report->leaks_found);
  if (report->tasks_not_drawn > 0)
    std::cout << fmt::format("{} of {} tasks are not what this version draws for their seed and index\n",
                             report->tasks_not_drawn, report->tasks);
}

void list_families(Context& context) {
  Table table({"family", "split"});
  Json json = Json::array();
  const auto novel = novel_families();
  for (int i = 0; i < family_count; ++i) {
    const auto family = static_cast<Family>(i);
    const bool held_out = std::find(novel.begin(), novel.end(), family) != novel.end();
    table.add({std::string(name_of(family)), held_out ? "novel" : "train"});
    json.push_back({{"family", name_of(family)}, {"novel", held_out}});
  }
  if (context.json) return print_json(json);
  std::cout << table.text();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void check_writers(Context& context, const DataArguments& arguments) {
  const auto stream = stream_options(arguments);
  if (!stream.ok()) return fail(context, stream.error());
  const auto level = level_option(arguments);
  if (!level.ok()) return fail(context, level.error());
  TrialOptions options;
  options.house_style = arguments.house_style;
  options.stream = *stream;
  options.first = arguments.first;
  options.count = arguments.count;
  options.only_level = *level;
  options.keep = arguments.keep;
  options.workers = arguments.workers > 0 ? arguments.workers : core_count();
  const auto session = JudgeSession::start(training_judge(options.workers));
  if (!session.ok()) return fail(context, session.error());
  const TrialReport report = run_trial((*session)->judge(), options);
  Table table({"family", "level", "judged", "correct", "speedup (median)", "faster than naive"},
              {Align::left, Align::left, Align::right, Align::right, Align::right, Align::right});
  Json rows = Json::array();
  for (const auto& [key, row] : report.rows) {
    const auto faster = std::count_if(row.speedups.begin(), row.speedups.end(), [](double s) { return s > 1.02; });
    table.add({row.family, row.level, std::to_string(row.judged), std::to_string(row.correct),
               fmt::format("{:.2f}", median(row.speedups)), std::to_string(faster)});
    rows.push_back({{"family", row.family},
                    {"level", row.level},
                    {"judged", row.judged},
                    {"correct", row.correct},
                    {"median_speedup", median(row.speedups)},
                    {"faster", faster}});
  }
  if (context.json) {
    Json failures = Json::array();
    for (const TrialFailure& f : report.failures)
      failures.push_back(
          {{"index", f.index}, {"family", f.family}, {"level", f.level}, {"status", f.status}, {"summary", f.summary}});
    print_json({{"rows", rows}, {"judged", report.judged}, {"correct", report.correct}, {"failures", failures}});
  } else {
    std::cout << table.text();
    for (const TrialFailure& f : report.failures)
      std::cout << fmt::format("{} {} {}: {}: {}\n", f.index, f.family, f.level, f.status, f.summary);
    std::cout << fmt::format("{} of {} kernels correct ({:.1f} %), {} family and level pairs, {}\n", report.correct,
                             report.judged, 100.0 * report.correct / std::max(report.judged, 1), report.rows.size(),
                             duration_text(report.seconds));
  }
  context.exit_code = interrupted() ? exit_interrupted : report.correct == report.judged ? exit_good : exit_not_good;
}

void add_stream_options(CLI::App& command, DataArguments& arguments) {
  command.add_option("--seed", arguments.seed, "which stream")->capture_default_str();
  command.add_option("--first", arguments.first, "index of the first example")->capture_default_str();
  command.add_option("--split", arguments.split, "train, composition or novel")->capture_default_str();
  command.add_option("--family", arguments.families, "only these families");
}

void add_from_search(CLI::App& data, Context& context) {
  const auto arguments = std::make_shared<DataArguments>();
  auto* command =
      data.add_subcommand("from-search", "Makes a store of what searches have judged: slow kernels and faster ones");
  add_json_flag(*command, context);
  command->add_option("RECORD", arguments->folder, "what optimize --store has written")->required();
  command->add_option("--task", arguments->task, "which task's searches")->required();
  command->add_option("--out", arguments->out, "the new store's folder")->required();
  command->callback([&context, arguments] { take_from_search(context, *arguments); });
}

void add_store_export(CLI::App& data, Context& context) {
  const auto arguments = std::make_shared<DataArguments>();
  auto* export_command =
      data.add_subcommand("export", "Writes a store's examples for other programs, after checking checksums");
  add_json_flag(*export_command, context);
  add_stream_options(*export_command, *arguments);
  export_command->add_option("FOLDER", arguments->folder, "the store; --for verl draws tasks without one");
  export_command->add_option("--for", arguments->framework, "rows that this framework reads, as a Parquet file")
      ->check(CLI::IsMember({"verl"}));
  export_command->add_option("--tasks", arguments->count, "--for verl without a store: number of tasks")
      ->default_val(100);
  export_command->add_option("--kind", arguments->kind, "only examples of this kind")
      ->check(CLI::IsMember({"generate", "optimise", "repair", "report"}));
  export_command->add_option("--format", arguments->format, "JSON lines, or a Parquet file")
      ->check(CLI::IsMember({"jsonl", "parquet"}))
      ->default_val("jsonl");
  export_command->add_option("--style", arguments->style, "also the prompt and the answer, in this style")
      ->check(CLI::IsMember({"compact", "chatml"}));
  export_command->add_option("--out", arguments->out, "a file; without it standard output");
  export_command->callback([&context, arguments] { export_data(context, *arguments); });
}

}  // namespace

void add_data_command(CLI::App& app, Context& context) {
  auto* data = app.add_subcommand("data", "Generated tasks and kernels, for training and evaluation");
  data->require_subcommand(1);
  // Each subcommand has its own: defaults differ.
  const auto new_arguments = [] { return std::make_shared<DataArguments>(); };
  std::shared_ptr<DataArguments> arguments;

  arguments = new_arguments();
  auto* show = data->add_subcommand("show", "Prints generated examples");
  add_json_flag(*show, context);
  add_stream_options(*show, *arguments);
  show->add_option("--count", arguments->count, "how many")->default_val(1);
  show->add_option("--level", arguments->level, "this level, where the family has it");
  show->add_flag("--house-style", arguments->house_style, "in one fixed style instead of a random one");
  show->callback([&context, arguments] { show_examples(context, *arguments); });

  auto* families = data->add_subcommand("families", "The families of tasks, and which of them are held out");
  add_json_flag(*families, context);
  families->callback([&context] { list_families(context); });

  arguments = new_arguments();
  auto* make = data->add_subcommand("make", "Judges examples and stores them; the same command resumes");
  add_json_flag(*make, context);
  add_stream_options(*make, *arguments);
  make->add_option("FOLDER", arguments->folder, "the store")->required();
  auto* tasks = make->add_option("--tasks", arguments->count, "number of tasks");
  tasks->default_val(100);
  make->add_option("--preset", arguments->preset,
                   "number of tasks: tiny takes minutes on two cores, full has 10,000 examples")
      ->check(CLI::IsMember({"tiny", "full"}))
      ->excludes(tasks);
  make->add_option("--shard-tasks", arguments->shard_tasks, "tasks per shard")->capture_default_str();
  make->add_option("--mutants", arguments->mutants, "broken kernels per task")->capture_default_str();
  make->add_option("--formulas", arguments->formulas,
                   "share of tasks whose kernels keep the task's expressions; the others vary in style")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  make->add_option("--workers", arguments->workers, "tasks judged at the same time; 0: one per core");
  make->callback([&context, arguments] { make_data(context, *arguments); });

  arguments = new_arguments();
  auto* stats = data->add_subcommand("stats", "Counts what a store holds");
  add_json_flag(*stats, context);
  stats->add_option("FOLDER", arguments->folder, "the store")->required();
  stats->callback([&context, arguments] { show_stats(context, *arguments); });

  add_store_export(*data, context);
  add_from_search(*data, context);
  add_sakana_command(*data, context);
  add_draw_commands(*data, context);

  arguments = new_arguments();
  auto* leaks = data->add_subcommand("check-leaks", "Checks that a training store holds nothing that is held out");
  add_json_flag(*leaks, context);
  auto* leaks_store = leaks->add_option("FOLDER", arguments->folder, "the store");
  const auto graphs = std::make_shared<GraphLeakArguments>();
  auto* kernelbench = leaks->add_option("--kernelbench", graphs->kernelbench,
                                        "compare graphs with those of this folder of imported KernelBench problems");
  leaks->add_option("--stream", graphs->stream, "instead of a store, so many drawn programs")
      ->needs(kernelbench)
      ->excludes(leaks_store);
  leaks->add_option("--seed", graphs->seed, "of the stream")->capture_default_str();
  leaks->add_option("--workers", graphs->workers, "threads; 0: one per core");
  leaks->callback([&context, arguments, graphs] {
    graphs->folder = arguments->folder;
    if (arguments->folder.empty() && graphs->stream == 0)
      return fail(context, {"which store?", "name its folder, or --kernelbench DIR --stream N", {}});
    if (!graphs->kernelbench.empty()) return show_graph_leaks(context, *graphs);
    show_leaks(context, *arguments);
  });

  arguments = new_arguments();
  auto* check =
      data->add_subcommand("check", "Judges random examples of every level: how many are correct, how fast they are");
  add_json_flag(*check, context);
  add_stream_options(*check, *arguments);
  check->add_option("--count", arguments->count, "how many tasks")->default_val(20);
  check->add_option("--level", arguments->level, "only this level");
  check->add_flag("--house-style", arguments->house_style, "in one fixed style instead of a random one");
  check->add_option("--keep", arguments->keep, "a folder for kernels that are not right");
  check->add_option("--workers", arguments->workers, "kernels judged at the same time; 0: one per core");
  check->callback([&context, arguments] { check_writers(context, *arguments); });
}

}  // namespace kw::cli
