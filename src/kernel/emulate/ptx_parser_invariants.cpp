#include "kernel/emulate/ptx_parser_invariants.h"

#include <string_view>
#include <unordered_set>

namespace kw {
namespace {

struct Promises {
  const PtxModule& module;
  std::unordered_set<std::string_view> module_names;
  std::unordered_set<std::string_view> function_names;  // of the function at hand
  std::string broken;

  bool require(bool holds, std::string_view what) {
    if (!holds && broken.empty()) broken = what;
    return holds;
  }
  bool known(std::string_view name) const { return module_names.contains(name) || function_names.contains(name); }
};

void check_variable(Promises& promises, const PtxVariable& variable) {
  promises.require(!variable.name.empty(), "a variable has no name");
  promises.require(bytes_of(variable.type) > 0 || variable.space == PtxSpace::reg, "a variable has no type");
  promises.require(variable.alignment > 0 && (variable.alignment & (variable.alignment - 1)) == 0,
                   "an alignment is not a power of two");
  promises.require(variable.initial.size() <= variable.bytes, "initial values are larger than their variable");
  const auto width = static_cast<std::uint64_t>(bytes_of(variable.type));
  for (const PtxVariable::Relocation& relocation : variable.relocations) {
    promises.require(relocation.offset + width <= variable.initial.size(), "a relocation is outside its variable");
    promises.require(relocation.mask != 0, "a relocation has an empty mask");
    promises.require(promises.known(relocation.symbol), "a relocation names an unknown symbol");
  }
}

void check_operand(Promises& promises, const PtxFunction& function, const PtxOperand& operand) {
  using Kind = PtxOperand::Kind;
  const auto is_register = [&](int index) {
    return index >= 0 && static_cast<std::size_t>(index) < function.registers.size();
  };
  switch (operand.kind) {
    case Kind::none:
      promises.require(false, "an operand is of no kind");
      break;
    case Kind::reg:
      promises.require(is_register(operand.index), "a register does not exist");
      break;
    case Kind::special:
      promises.require(operand.name.starts_with('%'), "a special register has no name");
      break;
    case Kind::symbol:
      promises.require(promises.known(operand.name), "a symbol does not exist");
      break;
    case Kind::address:
      promises.require(operand.index == -1 || is_register(operand.index), "the base register does not exist");
      promises.require(operand.name.empty() || promises.known(operand.name), "the base symbol does not exist");
      promises.require(operand.index == -1 || operand.name.empty(), "an address has two bases");
      break;
    case Kind::vector:
      promises.require(!operand.parts.empty(), "a vector is empty");
      break;
    case Kind::label:
      promises.require(operand.index >= 0 && static_cast<std::size_t>(operand.index) < function.body.size(),
                       "a label points outside the function");
      break;
    case Kind::integer:
    case Kind::floating:
    case Kind::sink:
      break;
  }
  for (const PtxOperand& part : operand.parts) check_operand(promises, function, part);
}

void check_instruction(Promises& promises, const PtxFunction& function, const PtxInstruction& instruction) {
  promises.require(!instruction.opcode.empty() && instruction.origin.ptx_line > 0,
                   "an instruction has no opcode or line");
  if (instruction.guard >= 0 &&
      promises.require(static_cast<std::size_t>(instruction.guard) < function.registers.size(),
                       "a guard does not exist")) {
    promises.require(function.registers[static_cast<std::size_t>(instruction.guard)].type == PtxType::pred,
                     "a guard is not a predicate");
  }
  for (const auto* list : {&instruction.operands, &instruction.call_returns, &instruction.call_arguments}) {
    for (const PtxOperand& operand : *list) check_operand(promises, function, operand);
  }
  for (int target : instruction.branch_targets) {
    promises.require(target >= 0 && static_cast<std::size_t>(target) < function.body.size(),
                     "a branch target points outside the function");
  }
}

void check_function(Promises& promises, const PtxFunction& function) {
  promises.function_names.clear();
  for (const auto* list : {&function.returns, &function.parameters}) {
    for (const PtxVariable& variable : *list) promises.function_names.insert(variable.name);
  }
  for (const PtxVariable& variable : function.locals) {
    promises.require(promises.function_names.insert(variable.name).second, "two locals have one name");
  }
  for (const auto* list : {&function.returns, &function.parameters, &function.locals}) {
    for (const PtxVariable& variable : *list) check_variable(promises, variable);
  }
  const bool has_body = !function.external && function.alias_of.empty();
  promises.require(has_body != function.body.empty(), "a function has no body, or one that it should not have");
  if (has_body && !function.body.empty()) {
    const PtxInstruction& last = function.body.back();
    const bool leaves = last.opcode == "ret" || last.opcode == "exit" || last.opcode == "trap" ||
                        last.opcode == "bra" || last.opcode == "brx";
    promises.require(leaves && last.guard < 0, "the last instruction falls through");
  }
  for (const PtxInstruction& instruction : function.body) check_instruction(promises, function, instruction);
}

}  // namespace

std::string broken_ptx_promise(const PtxModule& module) {
  Promises promises{module, {}, {}, {}};
  for (const PtxVariable& variable : module.variables) {
    promises.require(promises.module_names.insert(variable.name).second, "two variables have one name");
  }
  for (const PtxFunction& function : module.functions) {
    promises.require(promises.module_names.insert(function.name).second, "two functions have one name");
  }
  for (const PtxVariable& variable : module.variables) check_variable(promises, variable);
  for (const PtxFunction& function : module.functions) check_function(promises, function);
  return promises.broken;
}

}  // namespace kw
