#include "judge/judge.h"

#include <chrono>
#include <cmath>
#include <future>

#include <fmt/format.h>
#include <sys/random.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "judge/examine.h"
#include "judge/feedback.h"
#include "judge/full_size.h"
#include "judge/ptx_rules.h"
#include "judge/task_entry.h"

namespace kw {
namespace {

// Raised whenever a verdict could come out differently for the same kernel: older ones in the cache are then not used.
constexpr std::string_view judge_version = "judge 1";

// Everything of the task that a verdict depends on.
std::string task_identity(const Task& task) {
  Sha256 hash;
  hash.add(task.name).add(task.pytorch).add(task.naive).add(task.launcher_declaration());
  const auto add_tensor = [&](const TensorSpec& tensor) {
    hash.add(tensor.name).add(name_of(tensor.dtype));
    for (const Expression& extent : tensor.shape) hash.add(extent.text());
    hash.add(std::to_string(tensor.values.index()));
    if (const auto* uniform = std::get_if<UniformValues>(&tensor.values))
      hash.add(fmt::format("{} {}", uniform->low, uniform->high));
    if (const auto* integers = std::get_if<IntegerValues>(&tensor.values))
      hash.add(integers->low.text()).add(integers->high.text());
  };
  for (const TensorSpec& input : task.inputs) add_tensor(input);
  hash.add("outputs");
  for (const TensorSpec& output : task.outputs) add_tensor(output);
  for (const auto* list : {&task.sizes_small, &task.sizes_train, &task.sizes_holdout}) {
    hash.add("sizes");
    for (const Sizes& sizes : *list) hash.add(to_string(sizes));
  }
  if (task.tolerance) hash.add(fmt::format("{} {}", task.tolerance->relative, task.tolerance->absolute));
  return hash.hex();
}

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

void add_resources(const KernelBuild& build, std::size_t first_timed_plan, Architecture architecture,
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
  KW_TRY_VOID(write_file_atomic(path, secret));
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, ignored);
  return secret;
}

Judge::Judge(CompileService& service, JudgeOptions options) : service_(service), options_(std::move(options)) {
  if (options_.secret.empty()) {
    auto secret = machine_secret();
    // Without a place to keep it, one for this process will do.
    options_.secret =
        secret.ok() ? *secret : std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  identity_ = Sha256()
                  .add(judge_version)
                  .add(options_.secret)
                  .add(options_.profile.name)
                  .add(options_.profile.digest)
                  .add(options_.want_time ? "time" : "")
                  .hex();
  if (options_.cache) cache_.emplace(DiskCacheOptions{options_.cache_folder, std::uint64_t{1} << 30});
}

Judge::~Judge() = default;

std::shared_ptr<Judge::TaskEntry> Judge::entry_for(const Task& task) {
  const std::string identity = task_identity(task);
  std::lock_guard lock(mutex_);
  auto& entry = entries_[identity];
  if (entry == nullptr) entry = std::make_shared<TaskEntry>(task, identity, options_.secret);
  return entry;
}

std::string Judge::key_of(const TaskEntry& entry, std::string_view text) const {
  return Sha256().add(identity_).add(entry.identity).add(text).hex();
}

Verdict Judge::judge(const Task& task, std::string_view text, const std::string& file) {
  const auto start = std::chrono::steady_clock::now();
  const auto entry = entry_for(task);
  const std::string key = key_of(*entry, text);
  if (cache_) {
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
  Verdict verdict = judge_uncached(*entry, text, file);
  verdict.task = task.name;
  verdict.kernel_file = file;
  verdict.profile = options_.profile.name;
  verdict.correct = verdict.status == VerdictStatus::correct;
  verdict.feedback = feedback_text(verdict, text);
  verdict.judge_ms = milliseconds_since(start);
  // Time limits and our own failures may turn out differently next time.
  if (cache_ && verdict.status != VerdictStatus::internal_error) {
    const std::string bytes = to_json(verdict).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    if (const auto put = cache_->put(key, bytes); !put.ok())
      log_event(spdlog::level::debug, "verdict_not_stored", {{"reason", put.error().message}});
  }
  return verdict;
}

Verdict Judge::judge_uncached(TaskEntry& entry, std::string_view text, const std::string& file) {
  Verdict verdict;
  const Task& task = entry.book.task();
  const auto stop = [&](VerdictStatus status, std::string summary) {
    verdict.status = status;
    verdict.summary = std::move(summary);
    return std::move(verdict);
  };
  BuildOptions build_options;
  build_options.architecture = options_.profile.architecture;
  build_options.policy = options_.policy;
  KernelBuild build = read_kernel(text, file, build_options);
  if (build.kernel_file == nullptr) {
    add_build(build, verdict);
    return stop(status_of(build.status), build.problem.message);
  }

  const int set = entry.book.set_for(text);
  const auto questions = entry.book.questions(set);
  if (!questions.ok()) return stop(VerdictStatus::internal_error, to_string(questions.error()));
  for (const Case& question : **questions) build_options.plans.push_back({question.sizes, question.scalars});
  const std::size_t first_timed_plan = build_options.plans.size();
  for (const Sizes& sizes : task.sizes_train) {
    auto scalars = scalars_at(task, sizes, full_size_seed);
    if (!scalars.ok()) return stop(VerdictStatus::internal_error, to_string(scalars.error()));
    build_options.plans.push_back({sizes, *scalars});
  }
  // The compiler works in a process of its own; meanwhile the answers are made.
  auto compiling = std::async(std::launch::async, [&] { plan_and_compile(service_, task, build_options, build); });
  const auto cases = entry.book.set(set);
  compiling.get();
  add_build(build, verdict);
  if (!build.built()) return stop(status_of(build.status), build.problem.message);
  if (!cases.ok()) return stop(VerdictStatus::internal_error, to_string(cases.error()));
  add_resources(build, first_timed_plan, options_.profile.architecture, verdict);

  const auto forbidden = check_ptx(build.compiled.ptx);
  for (const VerdictFinding& finding : forbidden) add_finding(verdict, finding);
  if (!forbidden.empty()) return stop(VerdictStatus::rejected, forbidden.front().message);
  const auto module = LoadedModule::load(build.compiled.ptx, file);
  if (!module.ok())
    return stop(VerdictStatus::unsupported, "the emulator does not read this PTX: " + module.error().message);
  ExamineOptions examine_options;
  examine_options.threads = options_.threads;
  Examination found = examine(task, build, *module, **cases, examine_options);
  verdict.status = found.status;
  verdict.summary = found.summary;
  verdict.cases = std::move(found.cases);
  verdict.flags = std::move(found.flags);
  for (VerdictFinding& finding : found.findings) add_finding(verdict, std::move(finding));
  if (verdict.status == VerdictStatus::correct && options_.want_time)
    add_times(entry, build, *module, first_timed_plan, verdict);
  return verdict;
}

}  // namespace kw
