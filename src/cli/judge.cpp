#include "judge/judge.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/table.h"
#include "cli/command.h"
#include "cli/kernel_argument.h"
#include "cli/open_judge.h"
#include "judge/batch.h"
#include "judge/gpu_backend.h"
#include "task/task_file.h"

namespace kw::cli {
namespace {

struct JudgeArguments {
  std::string task;
  std::string kernel;
  std::string backend = "auto";
  std::string profile;
  std::string batch;
  std::string out;
  int workers = 0;
  bool no_cache = false;
  bool no_time = false;
  int gpu = 0;
  bool no_emulator = false;
  bool no_pytorch = false;
  bool no_explain = false;
  bool counters = false;
  bool small_only = false;
};

constexpr int bar_characters = 30;

std::string bar(double share) {
  const int filled = std::clamp(static_cast<int>(share * bar_characters + 0.5), 0, bar_characters);
  std::string text;
  for (int i = 0; i < filled; ++i) text += "█";
  return text;
}

void print_cases(const Verdict& verdict) {
  if (verdict.cases.empty()) return;
  Table table({"size", "inputs", "output", "error", "allowed", ""},
              {Align::left, Align::left, Align::left, Align::right, Align::right, Align::left});
  for (const CaseVerdict& one : verdict.cases) {
    const bool compared = !one.output.empty();
    table.add({to_string(one.sizes) + (one.hidden ? " (hidden)" : ""), std::string(name_of(one.inputs)),
               compared ? one.output : "-", compared ? fmt::format("{:.2g}", one.max_error) : "-",
               compared ? fmt::format("{:.2g}", one.tolerance) : "-", one.ok ? "ok" : "FAILED"});
  }
  std::cout << table.text() << "\n";
}

void print_resources(const Verdict& verdict) {
  if (verdict.resources.empty()) return;
  Table table({"kernel", "grid", "block", "registers", "shared", "spilled", "occupancy", "limited by"},
              {Align::left, Align::left, Align::left, Align::right, Align::right, Align::right, Align::right});
  for (const KernelUse& use : verdict.resources)
    table.add({use.kernel, use.grid, use.block, std::to_string(use.registers),
               bytes_text(static_cast<double>(use.shared_bytes)), bytes_text(use.spill_bytes),
               fmt::format("{:.0f} %", 100 * use.occupancy), use.occupancy_limiter});
  std::cout << table.text() << "\n";
}

void print_times(const Verdict& verdict) {
  if (verdict.times.empty()) return;
  Table table({"size", "time", "from", "to", "naive", "speedup", "limited by"},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (const SizedTime& time : verdict.times)
    table.add({to_string(time.sizes), fmt::format("{:.2f} us", time.time_us),
               fmt::format("{:.2f}", time.interval_us.low), fmt::format("{:.2f}", time.interval_us.high),
               time.naive_us ? fmt::format("{:.2f} us", *time.naive_us) : "?",
               time.naive_us ? fmt::format("{:.2f} x", *time.naive_us / time.time_us) : "?", time.limiter});
  std::cout << fmt::format("Time, {} on {}:\n", verdict.time_source, verdict.profile) << table.text() << "\n";
}

void print_bars(const Verdict& verdict) {
  if (verdict.terms.empty() || verdict.terms.front().us <= 0) return;
  std::cout << "Where the time goes, each term as if nothing else limited it:\n";
  for (const TimeTerm& term : verdict.terms) {
    if (term.us < 0.01 * verdict.terms.front().us) continue;
    std::cout << fmt::format("  {:<22} {:>10.2f} us  {}\n", term.name, term.us,
                             bar(term.us / verdict.terms.front().us));
  }
  if (!verdict.hot_lines.empty()) std::cout << "Costly lines:\n";
  for (const HotLine& hot : verdict.hot_lines)
    std::cout << fmt::format("  {:>4}  {:>4.0f} %  {:<{}} {}\n", hot.line > 0 ? std::to_string(hot.line) : "?",
                             100 * hot.share, bar(hot.share), bar_characters, hot.reason);
  std::cout << "\n";
}

// " (1.90 to 2.10)", and whether that is a speedup at all.
std::string speedup_words(const Verdict& verdict) {
  if (!verdict.speedup_interval) return "";
  const Interval& interval = *verdict.speedup_interval;
  const bool undecided = interval.low <= 1 && interval.high >= 1;
  return fmt::format(" ({:.2f} to {:.2f}{})", interval.low, interval.high, undecided ? ": no difference is shown" : "");
}

void print_verdict(const Verdict& verdict) {
  print_cases(verdict);
  print_resources(verdict);
  print_times(verdict);
  print_bars(verdict);
  for (const auto* list : {&verdict.findings, &verdict.hints})
    for (const VerdictFinding& finding : *list) {
      std::cout << fmt::format("{}{}: [{}] {}\n", verdict.kernel_file,
                               finding.line > 0 ? fmt::format(":{}", finding.line) : "", finding.kind, finding.message);
      if (!finding.advice.empty()) std::cout << "    advice: " << finding.advice << "\n";
    }
  if (!verdict.flags.empty()) {
    std::cout << "flags:";
    for (const std::string& flag : verdict.flags) std::cout << " " << flag;
    std::cout << "\n";
  }
  std::cout << fmt::format("{}: {}\n", to_string(verdict.status), verdict.summary);
  if (verdict.speedup_naive)
    std::cout << fmt::format("{:.2f} us, {:.2f} x the naive kernel{} ({} {})\n", *verdict.time_us,
                             *verdict.speedup_naive, speedup_words(verdict), verdict.time_source,
                             verdict.measured_on ? "on " + verdict.measured_on->device : "for " + verdict.profile);
  if (verdict.speedup_pytorch) std::cout << fmt::format("{:.2f} x PyTorch eager\n", *verdict.speedup_pytorch);
  std::cout << fmt::format("judged in {:.0f} ms{}\n", verdict.judge_ms, verdict.from_cache ? " (from the cache)" : "");
}

// The GPU, if it is wanted and there; null for the emulator.
Result<std::unique_ptr<GpuBackend>> gpu_from(const JudgeArguments& arguments, CompileService& service, int workers) {
  std::unique_ptr<GpuBackend> none;
  if (arguments.backend == "emulator") return none;
  GpuBackendOptions options;
  options.pool.device = arguments.gpu;
  options.pool.workers = workers;
  options.pytorch = !arguments.no_pytorch;
  auto started = GpuBackend::start(service, options);
  if (!started.ok() && arguments.backend == "auto") return none;
  return started;
}

Result<JudgeOptions> options_from(const JudgeArguments& arguments, GpuBackend* gpu) {
  JudgeOptions options;
  options.gpu = gpu;
  options.emulator_first = !arguments.no_emulator;
  options.explain = !arguments.no_explain;
  options.counters = arguments.counters;
  options.full_size = !arguments.small_only;
  const std::string fitting = gpu != nullptr ? profile_for(gpu->facts(), gpu->architecture()) : default_profile;
  KW_TRY(options.profile, load_profile(arguments.profile.empty() ? fitting : arguments.profile));
  if (gpu != nullptr) options.profile.architecture = gpu->architecture();
  options.cache = !arguments.no_cache;
  options.want_time = !arguments.no_time;
  return options;
}

void run_batch(Context& context, const JudgeArguments& arguments) {
  if (arguments.out.empty()) return fail(context, Error{"--batch needs --out FILE for the verdicts", "", {}});
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  BatchOptions batch;
  batch.jobs = arguments.batch;
  batch.out = arguments.out;
  batch.workers = arguments.workers > 0 ? arguments.workers : cores;
  ServiceOptions service_options;
  service_options.pool.workers = std::min(batch.workers, cores);
  service_options.disk_cache = !arguments.no_cache;
  CompileService service(service_options);
  const auto gpu = gpu_from(arguments, service, std::min(gpu_workers_batch, batch.workers));
  if (!gpu.ok()) return fail(context, gpu.error());
  // While some wait for the GPU, others compile.
  if (*gpu != nullptr && arguments.workers == 0) batch.workers = 2 * cores;
  auto options = options_from(arguments, gpu->get());
  if (!options.ok()) return fail(context, options.error());
  Judge judge(service, *options);
  const auto suite = suite_folder();
  const auto summary = judge_batch(judge, suite.ok() ? *suite : std::filesystem::path(), batch);
  if (!summary.ok()) return fail(context, summary.error());
  if (context.json) {
    Json json{{"jobs", summary->jobs},
              {"already_done", summary->already_done},
              {"judged", summary->judged},
              {"from_cache", summary->from_cache},
              {"by_status", summary->by_status},
              {"seconds", summary->seconds},
              {"interrupted", summary->interrupted}};
    print_json(json);
  } else {
    Table table({"status", "kernels"}, {Align::left, Align::right});
    for (const auto& [status, count] : summary->by_status) table.add({status, std::to_string(count)});
    std::cout << table.text();
    std::cout << fmt::format("{} judged ({} from the cache), {} were done before, in {}\n", summary->judged,
                             summary->from_cache, summary->already_done, duration_text(summary->seconds));
    if (summary->interrupted) std::cout << "stopped; the same command goes on from here\n";
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
  ServiceOptions service_options;
  service_options.pool.workers = 1;
  service_options.disk_cache = !arguments.no_cache;
  CompileService service(service_options);
  const auto gpu = gpu_from(arguments, service, 1);
  if (!gpu.ok()) return fail(context, gpu.error());
  auto options = options_from(arguments, gpu->get());
  if (!options.ok()) return fail(context, options.error());
  options->threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Judge judge(service, *options);
  const Verdict verdict = judge.judge(*task, *text, arguments.kernel);
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
  judge->add_option("TASK", arguments->task, "a name of the suite, a folder or a YAML file");
  judge->add_option("KERNEL.cu", arguments->kernel, "the kernel file; - reads standard input");
  judge->add_option("--backend", arguments->backend, "where it runs: auto takes the emulator where there is no GPU")
      ->check(CLI::IsMember({"emulator", "gpu", "auto"}))
      ->capture_default_str();
  judge->add_option("--profile", arguments->profile,
                    "the device whose time is modelled, or a profile's YAML file; without it h200, or the GPU's own");
  judge->add_option("--gpu", arguments->gpu, "which GPU, as the driver counts them")->capture_default_str();
  judge->add_option("--batch", arguments->batch,
                    "judge every line of this JSON-lines file: id, task, kernel or kernel_file");
  judge->add_option("--out", arguments->out, "where the verdicts of a batch go; what stands there is not judged again");
  judge->add_option("--workers", arguments->workers,
                    "kernels judged at the same time in a batch; 0: one for each core");
  judge->add_flag("--no-cache", arguments->no_cache, "compile and judge even if the result is known");
  judge->add_flag("--no-time", arguments->no_time, "only check, do not model the time");
  judge->add_flag("--no-emulator", arguments->no_emulator, "on a GPU: do not look at the kernel in the emulator first");
  judge->add_flag("--no-pytorch", arguments->no_pytorch, "on a GPU: do not time PyTorch");
  judge->add_flag("--no-explain", arguments->no_explain, "on a GPU: do not model where the time goes");
  judge->add_flag("--counters", arguments->counters, "on a GPU: read the hardware's counters of a correct kernel");
  judge->add_flag("--small-only", arguments->small_only,
                  "on a GPU: leave out the full sizes, for runs under a sanitizer or debugger");
  judge->footer(
      "Examples:\n"
      "  kernelwright judge softmax examples/softmax_shared.cu\n"
      "  kernelwright judge softmax my.cu --profile a100 --json\n"
      "  kernelwright judge --batch jobs.jsonl --out verdicts.jsonl");
  judge->callback([&context, arguments] { run_judge(context, *arguments); });
}

}  // namespace kw::cli
