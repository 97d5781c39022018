#include "kernel/emulate/decode.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "kernel/emulate/decode_function.h"
#include "kernel/emulate/shared_layout.h"

namespace kw {
namespace {

constexpr std::uint64_t first_variable_address = std::uint64_t{0x8} << 32;  // below everything that is allocated later
constexpr std::uint64_t variable_alignment = 256;
constexpr std::uint64_t variable_gap_bytes = 128 << 10;  // more than twice the memory's red zone
constexpr std::uint64_t variable_limit_bytes = std::uint64_t{1} << 28;
constexpr std::size_t function_limit = 2000;

void symbols_of(const PtxOperand& operand, std::set<std::string, std::less<>>& symbols) {
  if (!operand.name.empty()) symbols.insert(operand.name);
  for (const PtxOperand& part : operand.parts) symbols_of(part, symbols);
}

std::set<std::string, std::less<>> symbols_of(const PtxFunction& function, bool& indirect_calls) {
  std::set<std::string, std::less<>> symbols;
  for (const PtxInstruction& in : function.body) {
    for (const PtxOperand& operand : in.operands) symbols_of(operand, symbols);
    if (in.opcode == "call" && !in.operands.empty() && in.operands[0].kind != PtxOperand::Kind::symbol)
      indirect_calls = true;
  }
  return symbols;
}

// The kernel and what it may call, by index in the module.
std::vector<std::uint32_t> reachable_functions(const PtxModule& module, const ModuleLayout& layout,
                                               std::uint32_t kernel, std::set<std::string, std::less<>>& symbols) {
  std::vector<std::uint32_t> found = {kernel};
  std::set<std::uint32_t> seen = {kernel};
  auto add = [&](std::uint32_t index) {
    if (!module.functions[index].external && !module.functions[index].entry && seen.insert(index).second)
      found.push_back(index);
  };
  bool indirect_calls = false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const std::string& symbol : symbols_of(module.functions[found[i]], indirect_calls)) {
      symbols.insert(symbol);
      if (auto function = layout.functions.find(symbol); function != layout.functions.end()) add(function->second);
    }
    // A pointer may come from anywhere (tables of virtual functions are variables).
    if (indirect_calls)
      for (std::uint32_t index = 0; index < module.functions.size(); ++index) add(index);
  }
  return found;
}

// Each kernel has its own copy of every function that it calls, and each instruction its function's name.
Result<void> charge_function(const PtxFunction& function, WorkBudget* budget) {
  constexpr std::uint64_t instruction_units = 1'500, instruction_bytes = 600;
  if (budget == nullptr) return {};
  const std::uint64_t instructions = function.body.size() + function.registers.size();
  if (budget->charge(WorkKind::code_bytes, instructions, instructions * instruction_units) &&
      budget->hold(instructions * (instruction_bytes + function.name.size())))
    return {};
  return budget->exceeded_error();
}

}  // namespace

Result<ModuleLayout> lay_out_module(const PtxModule& module) {
  ModuleLayout layout;
  std::uint64_t address = first_variable_address;
  std::uint64_t total = 0;
  for (const PtxVariable& variable : module.variables) {
    if (variable.space != PtxSpace::global && variable.space != PtxSpace::constant) continue;
    if (variable.external) continue;
    std::uint64_t bytes = size_of(variable);
    total += bytes;
    if (bytes > variable_limit_bytes || total > variable_limit_bytes)
      return Error{
          fmt::format("{} is too large for the emulator", variable.name), "Use smaller __device__ arrays.", {}};
    layout.variables[variable.name] = {address, &variable};
    address = (address + bytes + variable_gap_bytes + variable_alignment - 1) / variable_alignment * variable_alignment;
  }
  for (std::uint32_t index = 0; index < module.functions.size(); ++index) {
    // A function that is declared first and defined later is one function: the definition counts.
    auto [place, fresh] = layout.functions.try_emplace(module.functions[index].name, index);
    if (!fresh && !module.functions[index].external) place->second = index;
  }
  for (const PtxFunction& function : module.functions) {
    if (function.alias_of.empty()) continue;
    auto target = layout.functions.find(function.alias_of);
    if (target != layout.functions.end()) layout.functions[function.name] = target->second;
  }
  return layout;
}

Result<Program> decode_kernel(const PtxModule& module, const ModuleLayout& layout, std::string_view kernel,
                              WorkBudget* budget) {
  auto place = layout.functions.find(kernel);
  if (place == layout.functions.end() || !module.functions[place->second].entry ||
      module.functions[place->second].external)
    return Error{fmt::format("there is no kernel {} in the module", kernel), "", {}};
  const PtxFunction& entry = module.functions[place->second];

  Program program;
  program.kernel = entry.name;
  std::copy(std::begin(entry.max_threads), std::end(entry.max_threads), program.max_threads);
  std::copy(std::begin(entry.required_threads), std::end(entry.required_threads), program.required_threads);
  DecodeContext context;
  context.module = &module;
  context.layout = &layout;
  context.program = &program;
  context.unit = best_vector_unit();

  std::uint64_t offset = 0;
  for (const PtxVariable& parameter : entry.parameters) {
    std::uint64_t bytes = size_of(parameter);
    auto alignment = std::clamp<std::uint64_t>(
        std::max<std::uint64_t>(parameter.alignment, parameter.bytes == 0 ? bytes : 1), 1, 256);
    offset = (offset + alignment - 1) / alignment * alignment;
    if (bytes > 65536 || offset + bytes > 65536) return Error{"the kernel's parameters need more than 64 KiB", "", {}};
    program.parameters.push_back(parameter);
    program.parameter_offsets.push_back(static_cast<std::uint32_t>(offset));
    context.kernel_parameters[parameter.name] = static_cast<std::uint32_t>(offset);
    offset += bytes;
  }
  program.parameter_bytes = static_cast<std::uint32_t>(offset);

  std::set<std::string, std::less<>> symbols;
  std::vector<std::uint32_t> functions = reachable_functions(module, layout, place->second, symbols);
  if (functions.size() > function_limit)
    return Error{fmt::format("the kernel calls more than {} functions", function_limit), "", {}};
  for (std::size_t i = 0; i < functions.size(); ++i) context.function_of[functions[i]] = static_cast<std::int32_t>(i);
  KW_TRY_VOID(lay_out_shared(module, functions, symbols, context));

  for (std::size_t i = 0; i < functions.size(); ++i) {
    KW_TRY_VOID(charge_function(module.functions[functions[i]], budget));
    KW_TRY(FunctionCode code, FunctionDecoder(context, module.functions[functions[i]], i == 0).decode());
    program.functions.push_back(std::move(code));
  }
  program.function_index = std::move(context.function_of);
  program.fences_order =
      program.acquires || (program.fences_order &&
                           (program.spins || program.shared_flags || program.global_atomics || program.shared_atomics));
  return program;
}

}  // namespace kw
