// kernelwright report: a training run as a page, or a verdict in the Tester's words.

#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "agents/agent/tester_report.h"
#include "app/cli/command.h"
#include "app/cli/kernel_argument.h"
#include "app/run_report/training_report.h"
#include "base/run_log/run_log.h"
#include "base/run_log/run_store.h"
#include "kernel/judge/verdict_file.h"

namespace kw::cli {
namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::string what;
  std::string out;
  std::string folder;
  std::string kernel;
  bool markdown = false;
};

void report_verdict(Context& context, const ReportArguments& arguments) {
  const auto verdict = read_verdict_file(arguments.what);
  if (!verdict.ok()) return fail(context, verdict.error());
  std::string kernel;
  if (!arguments.kernel.empty()) {
    auto text = read_kernel_argument(arguments.kernel);
    if (!text.ok()) return fail(context, text.error());
    kernel = std::move(text).value();
  }
  const std::string text =
      tester_report(*verdict, kernel, arguments.markdown ? ReportStyle::markdown : ReportStyle::text);
  if (context.json)
    print_json({{"report", text}, {"correct", verdict->correct}});
  else
    std::cout << text;
  context.exit_code = verdict->correct ? exit_good : exit_not_good;
}

// A folder, or a run of the store by its name or how it begins.
Result<fs::path> run_folder_named(const std::string& name, const std::string& runs) {
  std::error_code failed;
  if (fs::is_directory(name, failed)) return fs::path(name);
  const fs::path folder = runs.empty() ? runs_folder() : fs::path(runs);
  if (!fs::exists(folder / "runs.db", failed))
    return Error{fmt::format("'{}' is no folder, and there are no runs in {}", name, folder.string()),
                 "--folder or KERNELWRIGHT_RUNS name another place",
                 {}};
  KW_TRY(RunStore store, RunStore::open(folder, {.read_only = true}));
  KW_TRY(const RunRecord run, store.named(name));
  return run.folder;
}

Result<fs::path> report_run(const ReportArguments& arguments) {
  KW_TRY(const fs::path folder, run_folder_named(arguments.what, arguments.folder));
  const fs::path out = arguments.out.empty() ? folder / "report.html" : fs::path(arguments.out);
  KW_TRY_VOID(write_training_report(folder, out));
  return out;
}

void run_report(Context& context, const ReportArguments& arguments) {
  std::error_code failed;
  const auto kind = fs::status(arguments.what, failed).type();
  const bool is_run = arguments.what != "-" && (kind == fs::file_type::directory || kind == fs::file_type::not_found);
  // What is not there and looks like a file was meant to be one.
  if (!is_run || arguments.what.ends_with(".json")) return report_verdict(context, arguments);
  const auto out = report_run(arguments);
  if (!out.ok()) return fail(context, out.error());
  const auto bytes = fs::file_size(*out, failed);
  if (context.json)
    print_json({{"report", out->string()}, {"bytes", failed ? 0 : bytes}});
  else
    std::cout << out->string() << "\n";
}

}  // namespace

void add_report_command(CLI::App& app, Context& context) {
  auto* report = app.add_subcommand("report", "A training run as a page, or the Tester's report about a verdict");
  auto wanted = std::make_shared<ReportArguments>();
  add_json_flag(*report, context);
  report
      ->add_option("RUN|VERDICT.json", wanted->what,
                   "a run's folder or name, or what judge --json prints; - reads a verdict from standard input")
      ->required();
  report->add_option("--out", wanted->out, "run: write the page here (default: report.html in the run's folder)");
  report->add_option("--folder", wanted->folder, "run: folder of the runs (default: KERNELWRIGHT_RUNS or runs/)");
  report->add_option("--kernel", wanted->kernel, "verdict: the kernel, to quote its lines");
  report->add_flag("--markdown", wanted->markdown, "verdict: as Markdown");
  report->footer(
      "Examples:\n"
      "  kernelwright report runs/night --out night.html\n"
      "  kernelwright report v.json --kernel my.cu --markdown");
  report->callback([&context, wanted] { run_report(context, *wanted); });
}

}  // namespace kw::cli
