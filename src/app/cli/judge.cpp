#include "kernel/judge/judge.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "app/cli/command.h"
#include "app/cli/kernel_argument.h"
#include "app/cli/verdict_print.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"
#include "base/progress.h"
#include "base/table.h"
#include "kernel/judge/batch.h"
#include "kernel/judge/judge_session.h"
#include "kernel/task/task_file.h"

namespace kw::cli {
namespace {

constexpr double gibibyte = 1073741824;

struct JudgeArguments {
  std::string task;
  std::string kernel;
  std::string backend = "auto";
  std::string profile;
  std::string secret_file;
  std::string batch;
  std::string out;
  int workers = 0;
  bool no_cache = false;
  bool no_time = false;
  bool no_emulator = false;
  bool no_pytorch = false;
  bool no_explain = false;
  bool counters = false;
  bool small_only = false;
  bool audit = false;
  double limit_seconds = JudgeLimits::default_seconds;
  double limit_memory_gib = static_cast<double>(JudgeLimits::default_memory_bytes) / gibibyte;
};

JudgeSessionOptions session_options(const JudgeArguments& arguments, int workers) {
  JudgeSessionOptions options{arguments.backend, arguments.profile, workers, !arguments.no_cache};
  options.pytorch = !arguments.no_pytorch;
  options.secret_file = arguments.secret_file;
  JudgeOptions& judging = options.judging;
  judging.emulator_first = !arguments.no_emulator;
  judging.explain = !arguments.no_explain;
  judging.counters = arguments.counters;
  judging.full_size = !arguments.small_only;
  judging.audit = arguments.audit;
  judging.want_time = !arguments.no_time;
  judging.limits =
      limits_for(arguments.limit_seconds, static_cast<std::uint64_t>(arguments.limit_memory_gib * gibibyte));
  return options;
}

double unsupported_share(const BatchSummary& summary) {
  const auto found = summary.by_status.find("unsupported");
  if (found == summary.by_status.end() || summary.judged == 0) return 0;
  return static_cast<double>(found->second) / static_cast<double>(summary.judged);
}

void run_batch(Context& context, const JudgeArguments& arguments) {
  if (arguments.out.empty()) return fail(context, Error{"--batch needs --out FILE for the verdicts", "", {}});
  const auto session = JudgeSession::start(session_options(arguments, arguments.workers));
  if (!session.ok()) return fail(context, session.error());
  BatchOptions batch;
  batch.jobs = arguments.batch;
  batch.out = arguments.out;
  batch.workers = (*session)->workers();
  const auto suite = suite_folder();
  const auto summary = judge_batch((*session)->judge(), suite.ok() ? *suite : std::filesystem::path(), batch);
  if (!summary.ok()) return fail(context, summary.error());
  const std::vector<ServerCounts> services =
      (*session)->services() != nullptr ? (*session)->services()->counts() : std::vector<ServerCounts>();
  if (context.json) {
    Json json{{"jobs", summary->jobs},           {"already_done", summary->already_done},
              {"judged", summary->judged},       {"from_cache", summary->from_cache},
              {"by_status", summary->by_status}, {"unsupported", unsupported_share(*summary)},
              {"seconds", summary->seconds},     {"interrupted", summary->interrupted}};
    for (const ServerCounts& each : services)
      json["services"].push_back({{"service", each.server},
                                  {"state", each.state},
                                  {"answered", each.answered},
                                  {"failed", each.failed},
                                  {"second", each.second}});
    print_json(json);
  } else {
    Table table({"status", "kernels"}, {Align::left, Align::right});
    for (const auto& [status, count] : summary->by_status) table.add({status, std::to_string(count)});
    std::cout << table.text();
    std::cout << fmt::format("{} judged ({} from the cache), {} were done before, in {}\n", summary->judged,
                             summary->from_cache, summary->already_done, duration_text(summary->seconds));
    for (const ServerCounts& each : services)
      std::cout << fmt::format("{}: {} judged, {} times away, {} asked because another one hung; {}\n", each.server,
                               each.answered, each.failed, each.second, each.state);
    const double unsupported = unsupported_share(*summary);
    if (unsupported > 0)
      std::cout << fmt::format("{:.1f} % could not be checked (unsupported) and count as not right\n",
                               100 * unsupported);
    if (summary->interrupted) std::cout << "stopped; the same command resumes\n";
  }
  context.exit_code = summary->interrupted ? exit_interrupted : exit_good;
}

// A file that is too large is judged like any other that is no kernel: its first bytes are enough for that.
Result<std::string> read_any_file(const std::string& path) {
  std::error_code ignored;
  if (path == "-" || std::filesystem::file_size(path, ignored) <= max_kernel_file_bytes || ignored)
    return read_kernel_argument(path);
  std::ifstream file(path, std::ios::binary);
  std::string text(max_kernel_file_bytes + 1, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size())))
    return Error{"cannot be read", "", {path, 0, 0}};
  return text;
}

void run_judge(Context& context, const JudgeArguments& arguments) {
  if (!arguments.batch.empty()) {
    if (!arguments.task.empty()) return fail(context, Error{"--batch takes no TASK and KERNEL.cu", "", {}});
    return run_batch(context, arguments);
  }
  if (arguments.task.empty() || arguments.kernel.empty())
    return fail(context, Error{"TASK and KERNEL.cu are needed, or --batch", "see kernelwright judge --help", {}});
  const auto task = task_from_argument(arguments.task);
  if (!task.ok()) return fail(context, task.error());
  const auto text = read_any_file(arguments.kernel);
  if (!text.ok()) return fail(context, text.error());
  JudgeSessionOptions options = session_options(arguments, 1);
  options.judging.threads = core_count();
  const auto session = JudgeSession::start(options);
  if (!session.ok()) return fail(context, session.error());
  const Verdict verdict = (*session)->judge().judge(*task, *text, arguments.kernel);
  if (context.json) {
    print_json(to_json(verdict));
  } else {
    print_verdict(verdict);
  }
  context.exit_code = verdict.correct                                   ? exit_good
                      : verdict.status == VerdictStatus::internal_error ? exit_usage
                                                                        : exit_not_good;
}

}  // namespace

void add_judge_command(CLI::App& app, Context& context) {
  auto* judge = app.add_subcommand(
      "judge", "Judges a kernel: compiles it, runs it in the emulator with every check on, models its time");
  auto arguments = std::make_shared<JudgeArguments>();
  add_json_flag(*judge, context);
  judge->add_option("TASK", arguments->task, "a task of the suite by name, a task's folder, or a YAML file");
  judge->add_option("KERNEL.cu", arguments->kernel, "the kernel file; - reads standard input");
  judge
      ->add_option("--judge-on,--backend", arguments->backend,
                   "where it runs: auto (the emulator where there is no GPU), emulator, gpu, or services: "
                   "http://a:8000,http://b:8000 (docs/judges.md)")
      ->check([](const std::string& value) {
        const auto known = check_backend(value);
        return known.ok() ? std::string() : to_string(known.error());
      })
      ->capture_default_str();
  judge->add_option("--judge-secret-file", arguments->secret_file,
                    "file with the secret that several judges share; without it this machine's own");
  judge->add_option("--profile", arguments->profile,
                    "the device whose time is modelled, or a profile's YAML file; without it h200, or the GPU's own");
  add_gpu_option(*judge);
  judge->add_option("--batch", arguments->batch,
                    "judge every line of this JSON-lines file: id, task, kernel or kernel_file");
  judge->add_option("--out", arguments->out,
                    "write the verdicts of a batch here; kernels with a verdict in it are skipped");
  judge->add_option("--workers", arguments->workers, "batch: kernels judged at the same time; 0: one per core");
  judge->add_flag("--no-cache", arguments->no_cache, "ignore cached results");
  judge->add_flag("--no-time", arguments->no_time, "check only, without a time");
  judge->add_flag("--no-emulator", arguments->no_emulator, "on a GPU: skip the checks in the emulator");
  judge->add_flag("--no-pytorch", arguments->no_pytorch, "on a GPU: do not time PyTorch");
  judge->add_flag("--no-explain", arguments->no_explain, "on a GPU: do not show where the time goes");
  judge->add_flag("--counters", arguments->counters, "on a GPU: read hardware counters of a correct kernel");
  judge->add_flag("--audit", arguments->audit,
                  "without a GPU: execute all of every full size, where that is possible, and say what was compared");
  judge->add_flag("--small-only", arguments->small_only,
                  "on a GPU: skip the full sizes, for use under a sanitizer or debugger");
  judge
      ->add_option("--limit-seconds", arguments->limit_seconds,
                   "time limit of one judgement; its limits of work scale with it")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  judge->add_option("--limit-memory", arguments->limit_memory_gib, "memory limit of one judgement, in GiB")
      ->check(CLI::Range(2.0, static_cast<double>(JudgeLimits::most_memory_bytes) / gibibyte))
      ->capture_default_str();
  judge->footer(
      "Examples:\n"
      "  kernelwright judge softmax examples/softmax_shared.cu\n"
      "  kernelwright judge softmax my.cu --profile a100 --json\n"
      "  kernelwright judge --batch jobs.jsonl --out verdicts.jsonl");
  judge->callback([&context, arguments] { run_judge(context, *arguments); });
}

}  // namespace kw::cli
