#include "kernel/judge/full_size.h"

#include <algorithm>
#include <cstring>

#include "kernel/judge/error_bound.h"

namespace kw {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::uint64_t fewest_pages = 13, most_pages = 37;  // of a tile; which number, depends on the seed
constexpr std::uint64_t step_units = 2'000;                  // of a WorkBudget
constexpr MemoryLimits full_size_limits{std::uint64_t{64} << 30, 4096};

class Preparation {
 public:
  Preparation(const Task& task, const SizedPlan& sized, const LoadedModule& module,
              const std::vector<CompiledKernel>& kernels, std::uint64_t seed, WorkBudget* budget)
      : task_(task), sized_(sized), module_(module), kernels_(kernels), seed_(seed), budget_(budget) {}
  void use(const InputContents& inputs) { inputs_ = &inputs; }

  Result<PreparedPlan> run() {
    const std::size_t tile_bytes = page_bytes * (fewest_pages + seed_ % (most_pages - fewest_pages + 1));
    prepared_.memory = std::make_unique<DeviceMemory>(full_size_limits, budget_);
    std::size_t input = 0;
    for (const Buffer& buffer : sized_.plan.buffers) {
      std::uint64_t address = 0;
      if (inputs_ != nullptr) {
        KW_TRY(address, allocate_real(buffer, input));
      } else if (buffer.kind == Buffer::Kind::input) {
        while (task_.inputs.at(input).is_scalar()) ++input;
        const auto elements = static_cast<std::int64_t>(tile_bytes / bytes_of(task_.inputs[input].dtype));
        KW_TRY(const std::string tile, make_input_beginning(task_, input, sized_.sizes, seed_, elements));
        KW_TRY(address, prepared_.memory->allocate_tiled(buffer.bytes, "input " + buffer.name,
                                                         MemoryAccessRight::read_only, tile));
        ++input;
      } else {
        // All scratch at once, each at a place of its own: that it could be reused does not matter to the time.
        KW_TRY(address, prepared_.memory->allocate_untouched(
                            buffer.bytes, (buffer.kind == Buffer::Kind::output ? "output " : "scratch ") + buffer.name,
                            MemoryAccessRight::read_write));
      }
      addresses_.push_back(address);
    }
    for (const LaunchStep& step : sized_.plan.steps) {
      // The steps are copied, with their arguments.
      if (budget_ != nullptr && !budget_->charge(WorkKind::launches, 1, step_units)) return budget_->exceeded_error();
      if (const auto* launch = std::get_if<KernelLaunch>(&step)) {
        KW_TRY_VOID(add_launch(*launch));
      } else if (const auto* set = std::get_if<MemorySet>(&step)) {
        prepared_.steps.push_back(
            ProfiledTransfer{ProfiledTransfer::Kind::set, set->bytes, address(set->target), 0, set->value});
      } else if (const auto* copy = std::get_if<MemoryCopy>(&step)) {
        prepared_.steps.push_back(ProfiledTransfer{ProfiledTransfer::Kind::copy, copy->bytes, address(copy->target),
                                                   address(copy->source), 0});
      } else if (std::holds_alternative<ScratchAllocate>(step)) {
        ++prepared_.allocations;
      }
    }
    return std::move(prepared_);
  }

 private:
  // Real inputs; the rest is undefined until it is written.
  Result<std::uint64_t> allocate_real(const Buffer& buffer, std::size_t& input) {
    if (buffer.kind == Buffer::Kind::input) {
      const auto& pages = inputs_->at(input++);
      if (pages->bytes() == static_cast<std::uint64_t>(buffer.bytes))
        return prepared_.memory->allocate_shared("input " + buffer.name, pages);
      return prepared_.memory->allocate_drawn(buffer.bytes, "input " + buffer.name, MemoryAccessRight::read_only,
                                              pages->source());
    }
    const char* kind = buffer.kind == Buffer::Kind::output ? "output " : "scratch ";
    return prepared_.memory->allocate_blank(buffer.bytes, kind + buffer.name, MemoryAccessRight::read_write);
  }

  std::uint64_t address(const DevicePointer& pointer) const {
    const auto offset = static_cast<std::uint64_t>(pointer.offset_bytes);
    return pointer.buffer == DevicePointer::null_buffer ? offset
                                                        : addresses_[static_cast<std::size_t>(pointer.buffer)] + offset;
  }

  Result<void> add_launch(const KernelLaunch& launch) {
    const auto kernel = std::find_if(kernels_.begin(), kernels_.end(),
                                     [&](const CompiledKernel& each) { return each.name == launch.kernel; });
    if (kernel == kernels_.end()) return Error{"'" + launch.kernel + "' was not compiled", "", launch.where};
    ProfiledLaunch profiled;
    profiled.module = &module_;
    profiled.resources = kernel->resources;
    profiled.name = launch.kernel;
    LaunchArguments& arguments = profiled.arguments;
    arguments.kernel = kernel->symbol;
    arguments.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
    arguments.block = {launch.block.x, launch.block.y, launch.block.z};
    arguments.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    arguments.cooperative = launch.cooperative;
    for (const KernelArgument& argument : launch.arguments) {
      std::uint64_t place = 0;
      if (const auto* pointer = std::get_if<DevicePointer>(&argument.value)) {
        place = address(*pointer);
        arguments.parameters.emplace_back(reinterpret_cast<const char*>(&place), sizeof place);
        continue;
      }
      std::string bytes = std::get<std::string>(argument.value);
      for (const EmbeddedPointer& embedded : argument.pointers) {
        place = address(embedded.pointer);
        std::memcpy(bytes.data() + embedded.offset_bytes, &place, sizeof place);
      }
      arguments.parameters.push_back(std::move(bytes));
    }
    prepared_.steps.push_back(std::move(profiled));
    return {};
  }

  const Task& task_;
  const SizedPlan& sized_;
  const LoadedModule& module_;
  const std::vector<CompiledKernel>& kernels_;
  std::uint64_t seed_;
  WorkBudget* budget_;
  const InputContents* inputs_ = nullptr;
  PreparedPlan prepared_;
  std::vector<std::uint64_t> addresses_;
};

}  // namespace

Result<ScalarInputs> scalars_at(const Task& task, const Sizes& sizes, std::uint64_t seed) {
  ScalarInputs scalars;
  for (std::size_t place = 0; place < task.inputs.size(); ++place) {
    const TensorSpec& spec = task.inputs[place];
    if (!spec.is_scalar()) continue;
    KW_TRY(const std::string bytes, make_input_beginning(task, place, sizes, seed, 1));
    scalars[spec.name] = element_at(spec.dtype, bytes, 0);
  }
  return scalars;
}

Result<PreparedPlan> prepare_with_real_inputs(const Task& task, const SizedPlan& plan, const LoadedModule& module,
                                              const std::vector<CompiledKernel>& kernels, const InputContents& inputs,
                                              WorkBudget* budget) {
  Preparation preparation(task, plan, module, kernels, 0, budget);
  preparation.use(inputs);
  return preparation.run();
}

PlanCandidate full_size_candidate(const Task& task, const SizedPlan& plan, const LoadedModule& module,
                                  const std::vector<CompiledKernel>& kernels, std::uint64_t seed, WorkBudget* budget) {
  PlanCandidate candidate;
  candidate.sizes = to_string(plan.sizes);
  for (const auto& [name, value] : plan.sizes) candidate.work *= static_cast<double>(value);
  candidate.prepare = [&task, &plan, &module, &kernels, seed, budget] {
    return Preparation(task, plan, module, kernels, seed, budget).run();
  };
  return candidate;
}

}  // namespace kw
