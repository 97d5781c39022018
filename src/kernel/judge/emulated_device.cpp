#include "kernel/judge/emulated_device.h"

#include <algorithm>
#include <cstring>

namespace kw {

EmulatedDevice::EmulatedDevice(const LoadedModule& module, const std::vector<CompiledKernel>& kernels,
                               WorkBudget* budget)
    : module_(module), kernels_(kernels), budget_(budget), memory_(MemoryLimits{}, budget) {}

// Inputs get their content, outputs are as new.
Result<void> EmulatedDevice::place_buffers(const LaunchPlan& plan, const std::vector<InputTensor>& inputs) {
  const bool first = addresses_.empty();
  addresses_.resize(plan.buffers.size(), 0);
  std::size_t input = 0;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.kind == Buffer::Kind::scratch) {
      addresses_[i] = 0;
      continue;
    }
    const bool is_input = buffer.kind == Buffer::Kind::input;
    if (first) {
      KW_TRY(addresses_[i], memory_.allocate(buffer.bytes, (is_input ? "input " : "output ") + buffer.name,
                                             is_input ? MemoryAccessRight::read_only : MemoryAccessRight::read_write));
    }
    if (!is_input) {
      KW_TRY_VOID(memory_.poison(addresses_[i], buffer.bytes));
      continue;
    }
    while (input < inputs.size() && inputs[input].shape.empty()) ++input;
    KW_CHECK(input < inputs.size() && inputs[input].bytes.size() == buffer.bytes);
    KW_TRY_VOID(memory_.write(addresses_[i], inputs[input++].bytes));
  }
  return {};
}

struct EmulatedDevice::StepRunner {
  EmulatedDevice& device;
  const LaunchPlan& plan;
  const RunLimits& limits;
  const RunOptions& options;
  PlanRun& result;

  std::uint64_t address(const DevicePointer& pointer) const {
    if (pointer.buffer == DevicePointer::null_buffer) return static_cast<std::uint64_t>(pointer.offset_bytes);
    return device.addresses_[static_cast<std::size_t>(pointer.buffer)] +
           static_cast<std::uint64_t>(pointer.offset_bytes);
  }

  std::string parameter_bytes(const KernelArgument& argument) const {
    std::uint64_t place = 0;
    if (const auto* pointer = std::get_if<DevicePointer>(&argument.value)) {
      place = address(*pointer);
      return std::string(reinterpret_cast<const char*>(&place), sizeof place);
    }
    std::string bytes = std::get<std::string>(argument.value);
    for (const EmbeddedPointer& embedded : argument.pointers) {
      place = address(embedded.pointer);
      std::memcpy(bytes.data() + embedded.offset_bytes, &place, sizeof place);
    }
    return bytes;
  }

  Result<void> operator()(const KernelLaunch& launch) {
    const auto kernel = std::find_if(device.kernels_.begin(), device.kernels_.end(),
                                     [&](const CompiledKernel& each) { return each.name == launch.kernel; });
    if (kernel == device.kernels_.end()) return Error{"'" + launch.kernel + "' was not compiled", "", launch.where};
    LaunchArguments arguments;
    arguments.kernel = kernel->symbol;
    arguments.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
    arguments.block = {launch.block.x, launch.block.y, launch.block.z};
    arguments.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    arguments.cooperative = launch.cooperative;
    for (const KernelArgument& argument : launch.arguments) arguments.parameters.push_back(parameter_bytes(argument));
    RunLimits remaining = limits;
    remaining.warp_instructions =
        std::max<std::int64_t>(limits.warp_instructions - static_cast<std::int64_t>(result.warp_instructions), 1);
    KW_TRY(RunResult run, device.module_.run(device.memory_, arguments, remaining, options));
    result.warp_instructions += run.statistics.warp_instructions;
    result.thread_instructions += run.statistics.thread_instructions;
    for (EmulatorFinding& finding : run.findings) {
      finding.kernel = launch.kernel;
      if (finding.line == 0) finding.line = static_cast<std::uint32_t>(std::max(launch.where.line, 0));
      result.findings.push_back(std::move(finding));
    }
    if (!result.stray_shuffle) result.stray_shuffle = run.stray_shuffle;
    if (run.status != RunStatus::ok) {
      result.status = run.status;
      result.unsupported = run.unsupported;
    }
    return {};
  }

  // The host writes through no check of the emulator's.
  bool refuses_target(const DevicePointer& target, const char* what, const Position& where) {
    if (target.buffer == DevicePointer::null_buffer) return false;
    const Buffer& buffer = plan.buffers[static_cast<std::size_t>(target.buffer)];
    if (buffer.kind != Buffer::Kind::input) return false;
    EmulatorFinding finding;
    finding.kind = FindingKind::input_overwritten;
    finding.line = static_cast<std::uint32_t>(std::max(where.line, 0));
    finding.message = std::string(what) + " overwrites the input " + buffer.name;
    finding.advice = advice_for(FindingKind::input_overwritten);
    result.findings.push_back(std::move(finding));
    result.status = RunStatus::fault;
    return true;
  }

  // A range outside of its buffer: cudaMemsetAsync and cudaMemcpyAsync fail.
  void refuse_range(const Error& problem, const Position& where) {
    if (device.budget_ != nullptr && device.budget_->stopped()) {
      result.status = RunStatus::timeout;
      return;
    }
    EmulatorFinding finding;
    finding.kind = FindingKind::out_of_bounds;
    finding.line = static_cast<std::uint32_t>(std::max(where.line, 0));
    finding.message = problem.message;
    finding.advice = "Stay inside of the buffer.";
    result.findings.push_back(std::move(finding));
    result.status = RunStatus::fault;
  }

  Result<void> operator()(const MemorySet& set) {
    if (refuses_target(set.target, "cudaMemsetAsync", set.where)) return {};
    const auto done = device.memory_.fill(address(set.target), set.value, set.bytes);
    if (!done.ok()) refuse_range(done.error(), set.where);
    return {};
  }

  Result<void> operator()(const MemoryCopy& copy) {
    if (refuses_target(copy.target, "cudaMemcpyAsync", copy.where)) return {};
    const auto done = device.memory_.copy(address(copy.target), address(copy.source), copy.bytes);
    if (!done.ok()) refuse_range(done.error(), copy.where);
    return {};
  }

  Result<void> operator()(const ScratchAllocate& allocate) {
    const Buffer& buffer = plan.buffers[static_cast<std::size_t>(allocate.buffer)];
    KW_TRY(device.addresses_[static_cast<std::size_t>(allocate.buffer)],
           device.memory_.allocate(buffer.bytes, "scratch " + buffer.name, MemoryAccessRight::read_write));
    return {};
  }

  Result<void> operator()(const ScratchFree& free) {
    return device.memory_.free(device.addresses_[static_cast<std::size_t>(free.buffer)]);
  }

  Result<void> operator()(const SharedMemoryLimit&) { return {}; }  // the plan was checked against it
};

Result<PlanRun> EmulatedDevice::run(const LaunchPlan& plan, const std::vector<InputTensor>& inputs,
                                    const RunLimits& limits, const RunOptions& options) {
  PlanRun result;
  KW_TRY_VOID(place_buffers(plan, inputs));
  RunOptions charged = options;
  charged.budget = budget_;
  StepRunner runner{*this, plan, limits, charged, result};
  for (const LaunchStep& step : plan.steps) {
    KW_TRY_VOID(std::visit(runner, step));
    if (result.status != RunStatus::ok) break;
  }
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    if (plan.buffers[i].kind == Buffer::Kind::output && result.status == RunStatus::ok) {
      KW_TRY(std::string bytes, memory_.read(addresses_[i], plan.buffers[i].bytes));
      KW_TRY(const UndefinedBytes undefined, memory_.undefined(addresses_[i], plan.buffers[i].bytes));
      result.outputs.push_back(std::move(bytes));
      result.undefined.push_back(undefined);
    }
    // Scratch that the launcher did not free, or had no time to.
    if (plan.buffers[i].kind == Buffer::Kind::scratch && addresses_[i] != 0 && memory_.find(addresses_[i]) != nullptr)
      KW_TRY_VOID(memory_.free(addresses_[i]));
  }
  return result;
}

}  // namespace kw
