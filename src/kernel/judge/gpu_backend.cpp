#include "kernel/judge/gpu_backend.h"

#include <cstdlib>

#include "base/log.h"
#include "kernel/gpu/device_session.h"
#include "kernel/gpu/helper_kernels.h"
#include "kernel/judge/gpu_trial.h"

namespace kw {
namespace {

Result<GpuArchitecture> architecture_for(int capability) {
  std::optional<GpuArchitecture> best;
  for (const GpuArchitecture each : all_architectures) {
    const std::string name(to_string(each));
    if (name.back() == 'a') continue;  // kernels must run on every GPU of the generation
    if (compute_capability(each) <= capability && compute_capability(each) / 10 == capability / 10) best = each;
  }
  if (!best) return Error{"this GPU's architecture is not known", "use --backend emulator", {}};
  return *best;
}

}  // namespace

Result<std::unique_ptr<GpuBackend>> GpuBackend::start(CompileService& service, const GpuBackendOptions& options) {
  std::unique_ptr<GpuBackend> backend(new GpuBackend(service, options));
  KW_TRY(backend->pool_, GpuPool::start(options.pool));
  KW_TRY(backend->architecture_, architecture_for(backend->facts().capability));
  const char* driver = std::getenv("KERNELWRIGHT_LIBCUDA");
  backend->use_ptx_ = driver != nullptr && std::string(driver).find("emulated") != std::string::npos;
  KW_TRY_VOID(backend->compile_helpers());
  KW_TRY(auto lease, backend->pool_->borrow());
  if (const auto rates = lease->transfer_rates(std::chrono::seconds(10)); rates.done()) backend->rates_ = rates.value;
  return backend;
}

Result<void> GpuBackend::compile_helpers() {
  CompileRequest request;
  request.source = helper_kernel_source;
  request.file_name = "helper_kernels.cu";
  for (const std::string_view name : helper_kernel_names) request.kernels.emplace_back(name);
  request.architecture = architecture_;
  request.want_cubin = !use_ptx_;
  const CompileResult compiled = service_.compile(request);
  if (!compiled.ok()) return Error{"our own device code does not compile: " + compiled.explanation, "", {}};
  helpers_ = gpu_kernel(compiled, use_ptx_);
  helpers_.id = helper_slot;
  return {};
}

// What a task needs once, before a worker is asked for: nobody else shall wait for it.
Result<void> GpuBackend::prepare(GpuSubject& subject, GpuTask& data) {
  if (!subject.full_size) return {};
  for (std::size_t i = 0; i < subject.task.sizes_train.size(); ++i) {
    KW_TRY(auto full, data.full_size(i, pool_->turns()));
    subject.full.push_back(std::move(full));
  }
  std::set<InputKind> fair;
  for (const Case& one : subject.cases.cases)
    if (subject.unusual_inputs) fair.insert(one.kind);
  for (std::size_t i = 0; i < subject.full.size(); ++i)
    for (const InputMix mix : all_input_mixes) {
      const auto unusual = data.unusual(i, mix, fair, pool_->turns());
      // That PyTorch has no memory for one more question says nothing against the kernel.
      if (!unusual.ok())
        log_event(LogLevel::warn, "no_unusual_inputs",
                  {{"task", subject.task.name}, {"reason", unusual.error().message}});
      if (unusual.ok() && *unusual != nullptr) subject.unusual.emplace_back(i, *unusual);
    }
  if (subject.want_time) subject.naive = data.naive(service_, architecture_, use_ptx_);
  return {};
}

void GpuBackend::judge(GpuSubject subject, GpuTask& data, Verdict& verdict) {
  if (const auto ready = prepare(subject, data); !ready.ok()) {
    verdict.status = VerdictStatus::internal_error;
    verdict.summary = to_string(ready.error());
    return;
  }
  const std::uint64_t inputs = subject.full.empty() ? 0 : subject.full.front()->inputs->id();
  const auto attempt = [&](GpuPool::Wanted wanted, bool one_by_one, Verdict& result) -> Result<bool> {
    KW_TRY(auto lease, pool_->borrow(wanted, inputs));
    const bool fresh = lease->is_fresh();
    result = GpuTrial(*this, subject, data, lease, one_by_one).run(verdict);
    return fresh;
  };
  Verdict result;
  auto fresh = attempt(options_.always_fresh ? GpuPool::Wanted::fresh : GpuPool::Wanted::any, false, result);
  const bool unclear = result.status == VerdictStatus::fault || result.status == VerdictStatus::timeout;
  if (fresh.ok() && result.status != VerdictStatus::correct && (!*fresh || unclear)) {
    const VerdictStatus before = result.status;
    fresh = attempt(GpuPool::Wanted::fresh, true, result);
    if (fresh.ok() && before == VerdictStatus::wrong && result.status == VerdictStatus::correct)
      result.flags.push_back("changes_its_mind");
    if (fresh.ok() && result.status != before)
      log_event(LogLevel::warn, "verdict_changed_in_a_fresh_worker",
                {{"task", subject.task.name},
                 {"before", std::string(to_string(before))},
                 {"now", std::string(to_string(result.status))}});
  }
  if (!fresh.ok()) {
    verdict.status = VerdictStatus::internal_error;
    verdict.summary = to_string(fresh.error());
    return;
  }
  verdict = std::move(result);
}

}  // namespace kw
