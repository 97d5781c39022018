#include "app/cli/data_draw.h"

#include <fmt/format.h>

#include <iostream>
#include <set>

#include "agents/draw/held_graphs.h"
#include "agents/draw/signature.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"
#include "base/progress.h"
#include "base/table.h"
#include "kernel/judge/judge_session.h"
#include "learn/data/graph_leaks.h"
#include "learn/data/program_trial.h"

namespace kw::cli {
namespace {

struct DrawArguments {
  std::uint64_t seed = 1, first = 0, programs = 0;
  std::vector<std::string> families;
  bool novel = false, judge = false, print = false;
  std::string out, folder;
  int workers = 0;
};

Result<programs::DrawOptions> draw_options(const DrawArguments& arguments) {
  programs::DrawOptions options;
  options.seed = arguments.seed;
  options.split = arguments.novel ? programs::ProgramSplit::novel : programs::ProgramSplit::train;
  for (const std::string& name : arguments.families) {
    const programs::Family* family = programs::family_named(name);
    if (family == nullptr) return Error{"there is no family '" + name + "'", "see kernelwright data draw --json", {}};
    if (family->novel && !arguments.novel) return Error{"the family '" + name + "' is held out", "add --novel", {}};
    options.begin_with.push_back(family);
  }
  return options;
}

Json row_json(const ProgramRow& row) {
  return {{"drawn", row.drawn},   {"understood", row.understood}, {"written", row.written},
          {"judged", row.judged}, {"right", row.right},           {"unsupported", row.unsupported}};
}

void print_report(const ProgramReport& report) {
  Table table({"family", "drawn", "understood", "written", "judged", "right", "unsupported"},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  const auto add = [&](const std::string& name, const ProgramRow& row) {
    table.add({name, std::to_string(row.drawn), std::to_string(row.understood), std::to_string(row.written),
               std::to_string(row.judged), std::to_string(row.right), std::to_string(row.unsupported)});
  };
  for (const auto& [name, row] : report.rows) add(name, row);
  add("all programs", report.all);
  std::cout << table.text();
  for (const ProgramFailure& each : report.failures)
    std::cout << fmt::format("{} {}: {}\n", each.index, each.family, each.what);
  const double count = static_cast<double>(std::max<std::uint64_t>(report.all.drawn, 1));
  std::cout << fmt::format(
      "a program: drawn in {:.0f} us, read in {:.0f} us, written in {:.0f} us; {:.1f} families each\n",
      1e6 * report.draw_seconds / count, 1e6 * report.read_seconds / count, 1e6 * report.write_seconds / count,
      static_cast<double>(report.stages) / count);
}

void draw_programs(Context& context, const DrawArguments& arguments) {
  const auto stream = draw_options(arguments);
  if (!stream.ok()) return fail(context, stream.error());
  if (arguments.print) {
    for (std::uint64_t i = 0; i < arguments.programs; ++i) {
      const auto drawn = programs::draw_program(*stream, arguments.first + i);
      std::cout << fmt::format("=== {} {}\n{}", drawn.index, drawn.task.launcher_declaration(), drawn.task.pytorch);
    }
    return;
  }
  ProgramTrialOptions options;
  options.stream = *stream;
  options.first = arguments.first;
  options.count = arguments.programs;
  options.workers = arguments.workers > 0 ? arguments.workers : core_count();
  options.out = arguments.out;
  std::unique_ptr<JudgeSession> session;
  if (arguments.judge) {
    auto started = JudgeSession::start(
        {.backend = "emulator", .profile = "h200", .workers = options.workers, .purpose = JudgePurpose::training});
    if (!started.ok()) return fail(context, started.error());
    session = std::move(*started);
  }
  const auto report = try_programs(session ? &session->judge() : nullptr, options);
  if (!report.ok()) return fail(context, report.error());
  if (context.json) {
    Json rows = Json::object(), failures = Json::array();
    for (const auto& [name, row] : report->rows) rows[name] = row_json(row);
    for (const ProgramFailure& each : report->failures)
      failures.push_back(
          {{"index", each.index}, {"family", each.family}, {"what", each.what}, {"pytorch", each.pytorch}});
    print_json({{"all", row_json(report->all)}, {"families", rows}, {"failures", failures}});
  } else {
    print_report(*report);
  }
  const bool good = report->failures.empty();
  context.exit_code = interrupted() ? exit_interrupted : good ? exit_good : exit_not_good;
}

// The lines of held_graphs.cpp: the problems of several operations of all folders.
void print_held(Context& context, const std::vector<std::string>& folders) {
  std::set<std::uint64_t> signatures;
  Json names = Json::object();
  for (const std::string& folder : folders) {
    const auto held = read_held_problems(folder);
    if (!held.ok()) return fail(context, held.error());
    for (const auto& [signature, name] : held->several) {
      signatures.insert(signature);
      names[programs::signature_text(signature)] = name;
    }
    for (const std::string& each : held->not_read) std::cerr << each << "\n";
  }
  if (context.json) return print_json(names);
  for (const std::uint64_t each : signatures) std::cout << "0x" << programs::signature_text(each) << "\n";
}

}  // namespace

void show_graph_leaks(Context& context, const GraphLeakArguments& arguments) {
  const auto held = read_held_problems(arguments.kernelbench);
  if (!held.ok()) return fail(context, held.error());
  programs::DrawOptions stream;
  stream.seed = arguments.seed;
  std::optional<Progress> progress;
  if (arguments.folder.empty()) progress.emplace("programs", arguments.stream);
  const int workers = arguments.workers > 0 ? arguments.workers : core_count();
  const auto report = arguments.folder.empty() ? check_stream_graphs(stream, 0, arguments.stream, *held, workers,
                                                                     [&] { progress->advance(); })
                                               : check_store_graphs(arguments.folder, *held);
  progress.reset();
  if (!report.ok()) return fail(context, report.error());
  context.exit_code = report->leaks_found == 0 ? exit_good : exit_not_good;
  if (context.json)
    return print_json({{"examples", report->examples},
                       {"tasks", report->tasks},
                       {"graphs", report->signatures},
                       {"tasks_not_read", report->not_read},
                       {"problems", held->problems},
                       {"problems_not_read", held->not_read.size()},
                       {"leaks_found", report->leaks_found},
                       {"leaks", report->leaks}});
  for (const std::string& leak : report->leaks) std::cout << leak << "\n";
  std::cout << fmt::format(
      "{} examples, {} tasks of {} different graphs, {} not read; compared with {} problems, of which {} were not "
      "read: {} "
      "leaks\n",
      report->examples, report->tasks, report->signatures, report->not_read, held->problems, held->not_read.size(),
      report->leaks_found);
}

void add_draw_commands(CLI::App& data, Context& context) {
  const auto arguments = std::make_shared<DrawArguments>();
  auto* command = data.add_subcommand("draw", "Draws programs, writes the library's kernels, judges them");
  add_json_flag(*command, context);
  command->add_option("--programs", arguments->programs, "how many")->default_val(100);
  command->add_option("--seed", arguments->seed, "of the stream")->capture_default_str();
  command->add_option("--first", arguments->first, "index of the first one")->capture_default_str();
  command->add_option("--families", arguments->families, "only programs that begin with these families");
  command->add_flag("--novel", arguments->novel, "programs with families that training never sees");
  command->add_flag("--judge", arguments->judge, "judge the kernels");
  command->add_flag("--print", arguments->print, "print the programs, and nothing else");
  command->add_option("--out", arguments->out, "a folder for tasks and kernels");
  command->add_option("--workers", arguments->workers, "programs at the same time; 0: one per core");
  command->callback([&context, arguments] { draw_programs(context, *arguments); });

  const auto folders = std::make_shared<std::vector<std::string>>();
  auto* graphs = data.add_subcommand(
      "graphs", "The graphs of several operations in folders of tasks, for src/agents/draw/held_graphs.cpp");
  add_json_flag(*graphs, context);
  graphs->add_option("FOLDER", *folders, "folders of tasks")->required();
  graphs->callback([&context, folders] { print_held(context, *folders); });
}

}  // namespace kw::cli
