#include "kernel/judge/judge.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>

#include <fmt/format.h>
#include <sys/random.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "kernel/judge/compile_limits.h"
#include "kernel/judge/examine.h"
#include "kernel/judge/feedback.h"
#include "kernel/judge/full_size.h"
#include "kernel/judge/full_size_run.h"
#include "kernel/judge/gpu_backend.h"
#include "kernel/judge/judge_services.h"
#include "kernel/judge/missing_time.h"
#include "kernel/judge/ptx_rules.h"
#include "kernel/judge/task_entry.h"
#include "kernel/judge/task_identity.h"

namespace kw {
namespace {

// Raised whenever a verdict could come out differently for the same kernel: older ones in the cache are then not used.
constexpr std::string_view judge_version = "judge 7";

VerdictStatus status_of(BuildStatus status) {
  switch (status) {
    case BuildStatus::built:
      return VerdictStatus::correct;
    case BuildStatus::rejected:
      return VerdictStatus::rejected;
    case BuildStatus::launcher_error:
      return VerdictStatus::launcher_error;
    case BuildStatus::compile_error:
      return VerdictStatus::compile_error;
    case BuildStatus::timeout:
      return VerdictStatus::timeout;
    case BuildStatus::internal_error:
      return VerdictStatus::internal_error;
  }
  return VerdictStatus::internal_error;
}

VerdictFinding verdict_finding(const Finding& finding) {
  VerdictFinding made;
  made.kind = finding.rule;
  made.severity = finding.severity;
  made.line = finding.where.line;
  made.column = finding.where.column;
  made.message = finding.message;
  made.advice = finding.advice;
  return made;
}

void add_diagnostics(const KernelBuild& build, Verdict& verdict) {
  for (const Diagnostic& diagnostic : build.compiled.diagnostics) {
    VerdictFinding finding;
    finding.kind = "compile";
    finding.severity = diagnostic.severity;
    finding.line = static_cast<int>(diagnostic.line);
    finding.column = static_cast<int>(diagnostic.column);
    finding.message = diagnostic.message;
    finding.advice = diagnostic.advice;
    add_finding(verdict, std::move(finding));
  }
}

// What reading and compiling have found.
void add_build(const KernelBuild& build, Verdict& verdict) {
  verdict.risk = build.risk;
  verdict.fingerprint = build.fingerprint;
  verdict.ptx_fingerprint = build.compiled.ptx_fingerprint;
  verdict.compile_ms = build.compiled.compile_ms;
  verdict.compiled = build.compiled.ok();
  for (const Finding& finding : build.findings) add_finding(verdict, verdict_finding(finding));
  if (build.status == BuildStatus::compile_error || build.compiled.ok()) add_diagnostics(build, verdict);
  for (const Finding& finding : build.pitfalls) add_finding(verdict, verdict_finding(finding));
  if (build.status == BuildStatus::launcher_error || build.status == BuildStatus::timeout ||
      build.status == BuildStatus::internal_error) {
    if (build.problem.message.empty()) return;
    VerdictFinding finding;
    finding.kind = to_string(build.status);
    finding.line = build.problem.where.line;
    finding.column = build.problem.where.column;
    finding.message = build.problem.message;
    finding.advice = build.problem.advice;
    add_finding(verdict, std::move(finding));
  }
}

void add_resources(const KernelBuild& build, std::size_t first_timed_plan, GpuArchitecture architecture,
                   Verdict& verdict) {
  const std::size_t shown = std::min(first_timed_plan, build.plans.size() - 1);
  for (const KernelLaunch* launch : build.plans[shown].plan.launches()) {
    for (const CompiledKernel& kernel : build.compiled.kernels) {
      if (kernel.name != launch->kernel) continue;
      KernelUse use;
      use.kernel = kernel.name;
      use.registers = kernel.resources.registers;
      use.spill_bytes = kernel.resources.spill_store_bytes + kernel.resources.spill_load_bytes;
      use.stack_bytes = kernel.resources.stack_bytes;
      use.shared_bytes = kernel.resources.static_shared_bytes + std::int64_t{launch->dynamic_shared_bytes};
      use.grid = fmt::format("{}x{}x{}", launch->grid.x, launch->grid.y, launch->grid.z);
      use.block = fmt::format("{}x{}x{}", launch->block.x, launch->block.y, launch->block.z);
      if (const auto occupied = occupancy_of(architecture, kernel, *launch); occupied.ok()) {
        use.occupancy = occupied->fraction();
        use.occupancy_limiter = to_string(occupied->limiter);
      }
      const bool known = std::any_of(verdict.resources.begin(), verdict.resources.end(),
                                     [&](const KernelUse& other) { return other.kernel == use.kernel; });
      if (!known) verdict.resources.push_back(std::move(use));
    }
  }
}

void take_examination(const Examination& found, Verdict& verdict) {
  verdict.status = found.status;
  verdict.summary = found.summary;
  verdict.cases = found.cases;
  for (const std::string& flag : found.flags)
    if (std::find(verdict.flags.begin(), verdict.flags.end(), flag) == verdict.flags.end())
      verdict.flags.push_back(flag);
  for (const VerdictFinding& finding : found.findings) {
    const auto& known = finding.severity == Severity::error ? verdict.findings : verdict.hints;
    const bool there = std::any_of(known.begin(), known.end(), [&](const VerdictFinding& other) {
      return other.kind == finding.kind && other.line == finding.line && other.message == finding.message;
    });
    if (!there) add_finding(verdict, finding);
  }
}

bool times_pytorch(const JudgeOptions& options) {
  return options.gpu != nullptr && options.gpu->wants_pytorch() && options.pytorch;
}

std::string gpu_identity(const JudgeOptions& options) {
  const GpuFacts& facts = options.gpu->facts();
  return fmt::format("gpu {} {} {}", facts.uuid, facts.driver_version, times_pytorch(options));
}

// Of what is the same on every machine.
std::string rules_of(const JudgeOptions& options) {
  return Sha256()
      .add(judge_version)
      .add(fmt::format("time {} emulator first {} explain {} counters {} full size {} audit {} unusual {}",
                       options.want_time, options.emulator_first, options.explain, options.counters, options.full_size,
                       options.audit, options.unusual_share))
      .add(fmt::format("{} units {} bytes {} s", options.limits.work_units, options.limits.memory_bytes,
                       options.limits.seconds))
      .hex();
}

std::chrono::steady_clock::duration duration_of(double ms) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Result<std::string> machine_secret() {
  const auto path = cache_folder() / "secret";
  if (auto known = read_file(path, 64); known.ok() && known->size() == 32) return std::move(known).value();
  std::string secret(32, '\0');
  if (::getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size()))
    return Error{"this machine has no random numbers to give", "", {}};
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  // Without a place to keep it, it serves this process alone.
  if (const auto written = write_file_atomic(path, secret); !written.ok())
    log_event(LogLevel::debug, "secret_not_stored", {{"reason", written.error().message}});
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, ignored);
  return secret;
}

Judge::Judge(CompileService& service, JudgeOptions options)
    : service_(service), options_(std::move(options)), entries_(options_.kept_tasks) {
  if (options_.secret.empty()) {
    auto secret = machine_secret();
    KW_CHECK(secret.ok());  // a judge whose inputs can be guessed is none
    options_.secret = std::move(secret).value();
  }
  rules_ = rules_of(options_);
  identity_ = Sha256()
                  .add(judge_version)
                  .add(options_.secret)
                  .add(options_.profile.name)
                  .add(options_.profile.digest)
                  .add(options_.want_time ? "time" : "")
                  .add(options_.gpu != nullptr ? gpu_identity(options_) : "")
                  .add(options_.emulator_first ? "emulator first" : "")
                  .add(options_.explain ? "explain" : "")
                  .add(options_.counters ? "counters" : "")
                  .add(options_.full_size ? "" : "small only")
                  .add(options_.audit ? "audit" : "")
                  .add(options_.unusual_share < 1 ? fmt::format("unusual {}", options_.unusual_share) : "")
                  .add(fmt::format("{} units {} bytes", options_.limits.work_units, options_.limits.memory_bytes))
                  .hex();
  if (options_.cache) cache_.emplace(DiskCacheOptions{options_.cache_folder, std::uint64_t{1} << 30});
}

Judge::~Judge() = default;

std::shared_ptr<Judge::TaskEntry> Judge::entry_for(const Task& task) {
  const std::string identity = task_identity(task);
  return entries_.find_or_make(identity, [&] {
    return std::make_shared<TaskEntry>(task, identity, options_.secret, times_pytorch(options_),
                                       cache_ ? &*cache_ : nullptr);
  });
}

std::size_t Judge::kept_tasks() const { return entries_.size(); }
std::uint64_t Judge::kept_bytes() const { return entries_.bytes(); }

std::string Judge::key_of(const TaskEntry& entry, std::string_view text) const {
  return Sha256().add(identity_).add(entry.identity).add(text).hex();
}

Verdict Judge::judge(const Task& task, std::string_view text, const std::string& file) {
  // What is no kernel at a glance need not travel.
  if (options_.services != nullptr && !text.empty() && text.size() <= max_kernel_file_bytes)
    return options_.services->judge(task, text, file);
  const auto start = std::chrono::steady_clock::now();
  auto entry = entry_for(task);
  // What is refused at a glance is not worth a place, or the time to find one.
  const bool keep = cache_.has_value() && text.size() <= max_kernel_file_bytes;
  const std::string key = keep ? key_of(*entry, text) : "";
  if (keep) {
    if (const auto stored = cache_->get(key)) {
      const auto json = nlohmann::ordered_json::parse(*stored, nullptr, false);
      auto known = json.is_discarded() ? Result<Verdict>(Error{"damaged", "", {}}) : verdict_from_json(json);
      if (known.ok()) {
        known->kernel_file = file;
        known->from_cache = true;
        known->judge_ms = milliseconds_since(start);
        return std::move(known).value();
      }
    }
  }
  WorkBudget budget(work_limits(options_.limits));
  Verdict verdict = judge_uncached(*entry, text, file, budget);
  entry.reset();
  entries_.trim();
  note_work(budget, verdict);
  verdict.task = task.name;
  verdict.kernel_file = file;
  verdict.profile = options_.profile.name;
  settle_time(verdict, options_.want_time);
  verdict.correct = verdict.status == VerdictStatus::correct;
  verdict.feedback = feedback_text(verdict, text);
  verdict.judge_ms = milliseconds_since(start);
  // Time limits and our own failures may turn out differently next time.
  const bool may_differ = verdict.may_differ || verdict.status == VerdictStatus::internal_error ||
                          (verdict.status == VerdictStatus::timeout && verdict.backend == "gpu");
  if (keep && !may_differ) {
    const std::string bytes = to_json(verdict).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    if (const auto put = cache_->put(key, bytes); !put.ok())
      log_event(LogLevel::debug, "verdict_not_stored", {{"reason", put.error().message}});
  }
  return verdict;
}

// One kernel on its way to a verdict.
struct Judge::Judgement {
  TaskEntry& entry;
  std::string_view text;
  const std::string& file;
  WorkBudget& budget;
  Verdict verdict = {};
  KernelBuild build = {};
  int set = 0;                       // of the task's sets of cases
  std::size_t first_timed_plan = 0;  // the plans before it are for the cases
  std::shared_ptr<const CaseSet> cases = {};
  std::chrono::steady_clock::time_point stage_start = std::chrono::steady_clock::now();

  void end_stage(const char* name) {
    verdict.stages_ms.emplace_back(name, milliseconds_since(stage_start));
    stage_start = std::chrono::steady_clock::now();
  }
  // What a step returns that ends the judgement.
  bool stop(VerdictStatus status, std::string summary) {
    verdict.status = status;
    verdict.summary = std::move(summary);
    return false;
  }
};

Verdict Judge::judge_uncached(TaskEntry& entry, std::string_view text, const std::string& file, WorkBudget& budget) {
  Judgement now{entry, text, file, budget};
  if (!build_and_answer(now) || !check_build(now)) return std::move(now.verdict);
  const bool emulated = options_.gpu == nullptr || options_.emulator_first;
  const auto module = emulated ? LoadedModule::load(now.build.compiled.ptx, file, &budget)
                               : Result<LoadedModule>(Error{"the emulator is switched off", "", {}});
  if (!module.ok() && options_.gpu == nullptr)
    now.stop(VerdictStatus::unsupported, "the emulator does not read this PTX: " + module.error().message);
  else if (options_.gpu != nullptr)
    judge_with_gpu(now, module);
  else
    judge_emulated(now, *module);
  return std::move(now.verdict);
}

bool Judge::build_and_answer(Judgement& now) {
  const Task& task = now.entry.book.task();
  Verdict& verdict = now.verdict;
  KernelBuild& build = now.build;
  BuildOptions options;
  options.architecture = options_.profile.architecture;
  options.policy = options_.policy;
  options.compile_limits = compile_limits(options_.limits.seconds);
  options.plan_limits.budget = &now.budget;
  build = read_kernel(now.text, now.file, options);
  std::optional<Refusal> refusal;
  if (build.kernel_file == nullptr) read_needed(now.text, now.file, options, build, refusal);
  now.end_stage("read");
  if (build.kernel_file == nullptr) {
    settle_refusal(now.text, refusal, build);
    add_build(build, verdict);
    return now.stop(status_of(build.status), build.problem.message);
  }

  now.set = now.entry.book.set_for(now.text);
  const auto questions = now.entry.book.questions(now.set);
  if (!questions.ok()) return now.stop(VerdictStatus::internal_error, to_string(questions.error()));
  for (const Case& question : **questions) options.plans.push_back({question.sizes, question.scalars});
  now.first_timed_plan = options.plans.size();
  for (const Sizes& sizes : task.sizes_train) {
    auto scalars = scalars_at(task, sizes, full_size_seed);
    if (!scalars.ok()) return now.stop(VerdictStatus::internal_error, to_string(scalars.error()));
    options.plans.push_back({sizes, *scalars});
  }
  // The compiler works in a process of its own; meanwhile the answers are made.
  const auto built = std::chrono::steady_clock::now();
  double compiling_ms = 0;
  auto compiling = std::async(std::launch::async, [&] {
    plan_and_compile(service_, task, options, build);
    if (read_needed(now.text, now.file, options, build, refusal) && build.kernel_file != nullptr)
      plan_and_compile(service_, task, options, build);
    settle_refusal(now.text, refusal, build);
    compiling_ms = milliseconds_since(built);
  });
  const auto cases = now.entry.book.set(now.set);
  if (cases.ok() && options_.gpu == nullptr && options_.full_size)
    now.entry.prepare_truths(**cases, options_.unusual_share);
  compiling.get();
  // Waiting for a compiler or a processor, and the answers, which are for all kernels of the task, are not the kernel's
  // fault.
  const double compiler_ms = std::min(build.compiled.compile_ms, options.compile_limits.cpu_seconds * 1e3);
  const double waiting_ms = compiling_ms - build.planning_ms - compiler_ms;
  now.budget.forgive(duration_of(std::max(waiting_ms, 0.0) + milliseconds_since(built) - compiling_ms));
  now.end_stage("plan, compile, reference");
  add_build(build, verdict);
  // How long the compiler takes depends on the machine.
  verdict.may_differ = build.compiled.status == CompileStatus::timeout;
  if (!build.built()) return now.stop(status_of(build.status), build.problem.message);
  if (!cases.ok()) return now.stop(VerdictStatus::internal_error, to_string(cases.error()));
  now.cases = *cases;
  return true;
}

bool Judge::check_build(Judgement& now) const {
  add_resources(now.build, now.first_timed_plan, options_.profile.architecture, now.verdict);
  const auto elsewhere = [](const SizedPlan& sized) {
    return std::ranges::any_of(sized.plan.launches(),
                               [](const KernelLaunch* launch) { return launch->default_stream; });
  };
  // It is run on the given stream all the same.
  if (std::ranges::any_of(now.build.plans, elsewhere)) now.verdict.flags.push_back("default_stream");
  const auto forbidden = check_ptx(now.build.compiled.ptx);
  for (const VerdictFinding& finding : forbidden) add_finding(now.verdict, finding);
  return forbidden.empty() || now.stop(VerdictStatus::rejected, forbidden.front().message);
}

Examination Judge::examine_cases(Judgement& now, const LoadedModule& module) {
  ExamineOptions options;
  options.threads = options_.threads;
  const auto preparing = std::chrono::steady_clock::now();
  options.naive_work = naive_work(now.entry, now.set);
  now.budget.forgive(std::chrono::steady_clock::now() - preparing);
  options.budget = &now.budget;
  options.required_only = options_.gpu != nullptr;
  now.end_stage("load, naive kernel");
  Examination found = examine(now.entry.book.task(), now.build, module, *now.cases, options);
  // What the emulator cannot execute, a GPU can.
  if (found.status == VerdictStatus::unsupported && options_.gpu != nullptr) {
    found = Examination();
    found.status = VerdictStatus::correct;
    now.verdict.flags.push_back("not_emulated");
  }
  take_examination(found, now.verdict);
  now.end_stage("emulate the cases");
  return found;
}

void Judge::judge_with_gpu(Judgement& now, const Result<LoadedModule>& module) {
  Verdict& verdict = now.verdict;
  Examination found;
  if (module.ok()) {
    found = examine_cases(now, *module);
    if (verdict.status != VerdictStatus::correct) return;
  }
  verdict.status = VerdictStatus::correct;
  verdict.backend = "gpu";
  judge_on_gpu(now.entry, now.build, *now.cases, now.set, now.first_timed_plan, now.text, found.read_share, verdict);
  now.end_stage("run on the GPU");
  if (verdict.status == VerdictStatus::correct && options_.want_time && options_.explain && module.ok())
    explain_time(now.build, *module, now.entry.book.task(), now.first_timed_plan, now.budget, verdict);
  now.end_stage("explain the time");
}

void Judge::judge_emulated(Judgement& now, const LoadedModule& module) {
  Verdict& verdict = now.verdict;
  const Examination found = examine_cases(now, module);
  if (verdict.status != VerdictStatus::correct) return;
  if (!options_.full_size) {
    verdict.flags.push_back("small_only");
    return;
  }
  const auto runs = check_full_sizes(now.entry, now.build, module, now.first_timed_plan, now.text, now.budget, verdict);
  if (verdict.status != VerdictStatus::correct) return;
  now.end_stage("check the full size");
  if (found.blocks_wait)
    return set_no_time(verdict, "the kernel's time cannot be modelled: its blocks or warps wait for each other",
                       "Judge it on a GPU, or let each block do its part alone.");
  if (options_.want_time && !runs.empty())
    add_times(now.entry, now.build, runs, now.first_timed_plan, now.budget, verdict, found.read_share);
  now.end_stage("model the time");
}

void Judge::judge_on_gpu(TaskEntry& entry, const KernelBuild& build, const CaseSet& cases, int set,
                         std::size_t first_timed_plan, std::string_view text, double loaded_share, Verdict& verdict) {
  const std::uint64_t seed = std::stoull(Sha256().add(options_.secret).add(text).hex().substr(0, 15), nullptr, 16);
  const GpuSubject subject{entry.book.task(), build, cases, set, first_timed_plan, seed, loaded_share,
                           // Another device's memory says nothing about this one's.
                           options_.profile.name == options_.gpu->facts().name ? options_.profile.dram_gb_per_s : 0,
                           options_.want_time, options_.counters, entry.gets_unusual_inputs(options_.unusual_share),
                           options_.full_size};
  options_.gpu->judge(subject, entry.gpu, verdict);
}

}  // namespace kw
