#include "kernel/emulate/emulator.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "kernel/emulate/decode.h"
#include "kernel/emulate/launch.h"
#include "kernel/emulate/ptx_parser.h"

namespace kw {
namespace {

// Of parsed PTX, for each byte of its text.
constexpr std::uint64_t ptx_byte_units = 20, ptx_byte_memory = 16;

}  // namespace

struct LoadedModule::State {
  PtxModule module;
  ModuleLayout layout;
  std::uint64_t id = 0;
  WorkBudget* budget = nullptr;
  std::mutex mutex;  // guards `programs`; a program never changes once it is there
  std::map<std::string, Result<std::unique_ptr<Program>>, std::less<>> programs;
};

LoadedModule::LoadedModule(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoadedModule::LoadedModule(LoadedModule&&) noexcept = default;
LoadedModule& LoadedModule::operator=(LoadedModule&&) noexcept = default;
LoadedModule::~LoadedModule() = default;

std::string_view name_of(RunStatus status) {
  switch (status) {
    case RunStatus::ok:
      return "ok";
    case RunStatus::fault:
      return "fault";
    case RunStatus::race:
      return "race";
    case RunStatus::synchronization:
      return "synchronization";
    case RunStatus::uninitialised:
      return "uninitialised";
    case RunStatus::timeout:
      return "timeout";
    case RunStatus::unsupported:
      return "unsupported";
    case RunStatus::rejected:
      return "rejected";
    case RunStatus::launch_error:
      return "launch_error";
  }
  return "unknown";
}

Result<LoadedModule> LoadedModule::from(PtxModule module) {
  static std::atomic<std::uint64_t> next_id{1};
  auto state = std::make_unique<State>();
  state->module = std::move(module);
  state->id = next_id++;
  KW_TRY(state->layout, lay_out_module(state->module));
  return LoadedModule(std::move(state));
}

Result<LoadedModule> LoadedModule::load(std::string_view ptx, std::string_view user_file, WorkBudget* budget) {
  if (budget != nullptr && (!budget->charge(WorkKind::code_bytes, ptx.size(), ptx.size() * ptx_byte_units) ||
                            !budget->hold(ptx.size() * ptx_byte_memory)))
    return budget->exceeded_error();
  KW_TRY(PtxModule module, parse_ptx(ptx, user_file));
  KW_TRY(LoadedModule loaded, from(std::move(module)));
  loaded.state_->budget = budget;
  return loaded;
}

std::vector<std::string> LoadedModule::kernels() const {
  std::vector<std::string> names;
  for (const PtxFunction& function : state_->module.functions)
    if (function.entry && !function.external) names.push_back(function.name);
  return names;
}

Result<const Program*> LoadedModule::program(std::string_view kernel) const {
  std::lock_guard lock(state_->mutex);
  auto known = state_->programs.find(kernel);
  if (known == state_->programs.end()) {
    auto decoded = decode_kernel(state_->module, state_->layout, kernel, state_->budget);
    Result<std::unique_ptr<Program>> entry =
        decoded.ok() ? Result<std::unique_ptr<Program>>(std::make_unique<Program>(std::move(decoded).value()))
                     : decoded.error();
    known = state_->programs.emplace(std::string(kernel), std::move(entry)).first;
  }
  if (!known->second.ok()) return known->second.error();
  return static_cast<const Program*>(known->second.value().get());
}

Result<void> LoadedModule::place_variables(DeviceMemory& memory) const {
  if (memory.module_id == state_->id) return {};
  if (memory.module_id != 0) return Error{"this device memory already holds the variables of another module", "", {}};
  for (const PtxVariable& variable : state_->module.variables) {
    auto place = state_->layout.variables.find(variable.name);
    if (place == state_->layout.variables.end() || place->second.variable != &variable) continue;
    bool constant = variable.space == PtxSpace::constant;
    std::uint64_t bytes = variable.bytes != 0 ? variable.bytes : static_cast<std::uint64_t>(bytes_of(variable.type));
    KW_TRY_VOID(memory.map(place->second.address, bytes, (constant ? "__constant__ " : "__device__ ") + variable.name,
                           constant ? MemoryAccessRight::read_only : MemoryAccessRight::read_write));
    std::string content = variable.initial;
    content.resize(bytes, '\0');
    for (const PtxVariable::Relocation& relocation : variable.relocations) {
      std::uint64_t value = 0;
      if (auto target = state_->layout.variables.find(relocation.symbol); target != state_->layout.variables.end()) {
        value = target->second.address;
      } else if (auto function = state_->layout.functions.find(relocation.symbol);
                 function != state_->layout.functions.end()) {
        value = function_address(function->second);
      }
      value += static_cast<std::uint64_t>(relocation.addend);
      if (relocation.offset <= bytes && bytes - relocation.offset >= sizeof value)
        std::memcpy(content.data() + relocation.offset, &value, sizeof value);
    }
    KW_TRY_VOID(memory.write(place->second.address, content));
  }
  memory.module_id = state_->id;
  return {};
}

Result<RunResult> LoadedModule::run(DeviceMemory& memory, const LaunchArguments& arguments, const RunLimits& limits,
                                    const RunOptions& options) const {
  KW_TRY(const Program* code, program(arguments.kernel));
  KW_TRY_VOID(place_variables(memory));
  return run_launch(*code, memory, arguments, limits, options);
}

}  // namespace kw
