// Names: variables, constants, enumerators, functions.

#include <array>
#include <unordered_set>

#include "kernel/source/host_interpreter.h"

namespace kw {
namespace {

struct RuntimeConstant {
  std::string_view name;
  std::string_view type;
  std::int64_t value;
};
// From driver_types.h of CUDA 13.
constexpr std::array<RuntimeConstant, 32> runtime_constants = {{
    {"cudaSuccess", "cudaError_t", 0},
    {"cudaErrorInvalidValue", "cudaError_t", 1},
    {"cudaErrorMemoryAllocation", "cudaError_t", 2},
    {"cudaErrorInvalidConfiguration", "cudaError_t", 9},
    {"cudaErrorUnknown", "cudaError_t", 999},
    {"cudaMemcpyHostToHost", "cudaMemcpyKind", 0},
    {"cudaMemcpyHostToDevice", "cudaMemcpyKind", 1},
    {"cudaMemcpyDeviceToHost", "cudaMemcpyKind", 2},
    {"cudaMemcpyDeviceToDevice", "cudaMemcpyKind", 3},
    {"cudaMemcpyDefault", "cudaMemcpyKind", 4},
    {"cudaFuncAttributeMaxDynamicSharedMemorySize", "cudaFuncAttribute", 8},
    {"cudaFuncAttributePreferredSharedMemoryCarveout", "cudaFuncAttribute", 9},
    {"cudaFuncCachePreferNone", "cudaFuncCache", 0},
    {"cudaFuncCachePreferShared", "cudaFuncCache", 1},
    {"cudaFuncCachePreferL1", "cudaFuncCache", 2},
    {"cudaFuncCachePreferEqual", "cudaFuncCache", 3},
    {"cudaSharedmemCarveoutDefault", "cudaSharedCarveout", -1},
    {"cudaSharedmemCarveoutMaxShared", "cudaSharedCarveout", 100},
    {"cudaSharedmemCarveoutMaxL1", "cudaSharedCarveout", 0},
    {"cudaDevAttrMaxThreadsPerBlock", "cudaDeviceAttr", 1},
    {"cudaDevAttrMaxSharedMemoryPerBlock", "cudaDeviceAttr", 8},
    {"cudaDevAttrWarpSize", "cudaDeviceAttr", 10},
    {"cudaDevAttrMaxRegistersPerBlock", "cudaDeviceAttr", 12},
    {"cudaDevAttrMultiProcessorCount", "cudaDeviceAttr", 16},
    {"cudaDevAttrL2CacheSize", "cudaDeviceAttr", 38},
    {"cudaDevAttrMaxThreadsPerMultiProcessor", "cudaDeviceAttr", 39},
    {"cudaDevAttrComputeCapabilityMajor", "cudaDeviceAttr", 75},
    {"cudaDevAttrComputeCapabilityMinor", "cudaDeviceAttr", 76},
    {"cudaDevAttrMaxSharedMemoryPerMultiprocessor", "cudaDeviceAttr", 81},
    {"cudaDevAttrCooperativeLaunch", "cudaDeviceAttr", 95},
    {"cudaDevAttrMaxSharedMemoryPerBlockOptin", "cudaDeviceAttr", 97},
    {"cudaDevAttrMaxBlocksPerMultiprocessor", "cudaDeviceAttr", 106},
}};

// A variable whose parts can be stored one by one; until then none can be read.
HostValue unset_value(const HostType* type) {
  HostValue value;
  value.type = type;
  if (type->plain->kind != TypeKind::structure) return value;
  HostValue::Aggregate parts;
  for (const FieldType& field : type->plain->structure->fields) parts.push_back(unset_value(field.type));
  value.data = std::move(parts);
  return value;
}

std::string plain_name(const Name& name) {
  std::string text = name.global ? "::" : "";
  for (const NamePart& part : name.parts) {
    if (&part != &name.parts.front()) text += "::";
    text += part.name;
  }
  return text;
}

}  // namespace

HostValue* HostInterpreter::find_variable(std::string_view name) {
  std::vector<Scope>& scopes = frame().scopes;
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    for (auto entry = scope->variables.rbegin(); entry != scope->variables.rend(); ++entry) {
      if (entry->first == name) return entry->second;
    }
  }
  return find_field(name);
}

// Inside a member function the fields are visible by their names.
HostValue* HostInterpreter::find_field(std::string_view name) {
  HostValue* self = frame().self;
  if (self == nullptr || self->type->kind != TypeKind::structure || !self->is_aggregate()) return nullptr;
  const std::vector<FieldType>& fields = self->type->structure->fields;
  for (std::size_t i = 0; i < fields.size() && i < self->parts().size(); ++i) {
    if (fields[i].name == name) return &self->parts()[i];
  }
  return nullptr;
}

const BoundArgument* HostInterpreter::find_binding(std::string_view name) {
  for (const BoundArgument& binding : frame().bindings) {
    if (binding.name == name) return &binding;
  }
  return nullptr;
}

const Declared* HostInterpreter::find_declared(const Name& name) {
  return index_.find(frame().scope, plain_name(name));
}

Result<HostValue*> HostInterpreter::new_cell(const HostType* type, TokenIndex token) {
  if (static_cast<std::int64_t>(cells_.size()) >= limits_.max_variables) {
    return fail("the launcher declares too many variables", token);
  }
  HostValue& cell = cells_.emplace_back();
  cell.type = type;
  return &cell;
}

Result<HostValue*> HostInterpreter::declare(std::string_view name, const HostType* type, TokenIndex token) {
  std::size_t visible = 0;  // names are searched linearly
  for (const Scope& scope : frame().scopes) visible += scope.variables.size();
  if (visible >= 512) return fail("too many variables are visible here", token);
  KW_TRY(HostValue * cell, new_cell(type, token));
  frame().scopes.back().variables.emplace_back(name, cell);
  frame().scopes.back().owned.push_back(cell);
  return cell;
}

void HostInterpreter::close_scope() {
  for (HostValue* cell : frame().scopes.back().owned) end_life(*cell);
  frame().scopes.pop_back();
}

std::optional<HostValue> HostInterpreter::runtime_constant(std::string_view name) {
  for (const RuntimeConstant& constant : runtime_constants) {
    if (constant.name == name) return make_integer(types_.named(constant.type), constant.value);
  }
  if (name == "cudaStreamDefault") return make_integer(types_.int_type(), 0);
  if (name == "cudaStreamLegacy") return HostValue{types_.basic(TypeKind::stream), StreamValue{true}};
  if (name == "__func__" || name == "__FUNCTION__")
    return HostValue{types_.basic(TypeKind::string), std::string_view("launch")};
  return std::nullopt;
}

std::optional<Error> HostInterpreter::unread_declaration(std::string_view name) const {
  for (const UnreadDeclaration& unread : program_.unread) {
    if (unread.name == name) {
      Error error = unread.error;
      error.message =
          "`" + std::string(name) + "` cannot be used, its declaration was not understood: " + error.message;
      return error;
    }
  }
  return std::nullopt;
}

HostValue HostInterpreter::function_value(const Declared& declared, const Name& name,
                                          std::shared_ptr<const BoundArguments> arguments) {
  auto function = std::make_shared<FunctionValue>();
  function->name = plain_name(name);
  function->candidates = declared.functions;
  function->explicit_arguments = std::move(arguments);
  return HostValue{types_.basic(TypeKind::function), std::shared_ptr<const FunctionValue>(std::move(function))};
}

Result<HostValue> HostInterpreter::evaluate_name(const Expr& expr) {
  const Name& name = expr.name;
  const NamePart& last = name.parts.back();
  if (name.parts.size() == 1 && !name.global) {
    if (HostValue* cell = find_variable(last.name)) return read(*cell, expr);
    const BoundArgument* binding = find_binding(last.name);
    if (binding != nullptr && binding->type == nullptr) return binding->value;
    if (frame().self_type != nullptr) {
      Result<HostValue> constant = struct_constant(*frame().self_type, last.name, expr.token);
      if (constant.ok() || constant.error().where.line != 0) return constant;
    }
  }
  if (last.name.ends_with("_v") && is_type_question(last.name.substr(0, last.name.size() - 2))) {
    return type_trait(name, expr.token);
  }
  if (const Declared* declared = find_declared(name)) {
    if (declared->variable != nullptr) {
      KW_TRY(HostValue * cell, global_constant(*declared->variable, expr));
      if (!cell->is_set() && !declared->variable->is_constant) return unset_global(std::string(last.name), expr.token);
      return read(*cell, expr);
    }
    if (declared->enumerator_of != nullptr) return enumerator_value(*declared->enumerator_of, declared->enumerator);
    if (!declared->functions.empty()) {
      std::shared_ptr<const BoundArguments> arguments;
      if (last.has_arguments) {
        KW_TRY(BoundArguments evaluated, evaluate_arguments(last.arguments));
        arguments = std::make_shared<const BoundArguments>(std::move(evaluated));
      }
      return function_value(*declared, name, std::move(arguments));
    }
  }
  if (program_.uses_torch) {
    if (const auto constant = torch_constant(name)) return *constant;
  }
  if (name.parts.size() > 1) {  // Config<4>::threads, Mode::fast through an alias
    const std::string_view owner_name = name.parts[name.parts.size() - 2].name;
    if (is_type_question(owner_name)) return type_trait(name, expr.token);
    const Result<const HostType*> owner = resolve_name(name, name.parts.size() - 1, expr.token);
    if (owner.ok()) {
      const HostType& type = **owner;
      if (type.kind == TypeKind::enumeration && type.enumeration->syntax != nullptr) {
        const auto& enumerators = type.enumeration->syntax->enumerators;
        for (std::size_t i = 0; i < enumerators.size(); ++i) {
          if (enumerators[i].first == last.name) return enumerator_value(*type.enumeration->syntax, i);
        }
      }
      KW_TRY_AT(HostValue value, struct_constant(type, last.name, expr.token), expr.token);
      return value;
    }
    if (owner.error().message.find("does not know") == std::string::npos) return owner.error();
  }
  if (const auto constant = runtime_constant(last.name)) return *constant;
  if (const auto error = unread_declaration(last.name)) return *error;
  return unknown("the name " + describe(expr), expr.token);
}

Error HostInterpreter::unset_global(const std::string& name, TokenIndex token) const {
  return fail("the launcher uses the global variable `" + name + "`, which may change between calls", token,
              "make it constexpr or a local variable");
}

// `int rows_of_chip = 16;`, a plain number that nothing in the file could change: each mention is looked at.
bool HostInterpreter::is_never_written(const GlobalVariable& global) const {
  const bool plain = !global.generic.present && global.variable.type->suffixes.empty() &&
                     global.variable.initial != VariableSyntax::Initial::none;
  if (!plain) return false;
  const std::vector<Token>& tokens = program_.tokens;
  for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
    if (i == global.variable.token || tokens[i].kind != TokenKind::identifier || !tokens[i].is(global.variable.name)) {
      continue;
    }
    // Only where its value is taken: `rows / 4`. As a whole argument, behind an & or where a reference is bound to it,
    // it may be changed.
    const std::string_view before = tokens[i - 1].text, next = tokens[i + 1].text;
    static const std::unordered_set<std::string_view> operators = {"/", "*", "+", "-", "%", "<", "?", "==", "!=", "<="};
    static const std::unordered_set<std::string_view> operands = {"+", "-", "/", "%", "["};
    const bool copied = before == "=" && i > 2 && !tokens[i - 3].is("&") && tokens[i - 3].kind == TokenKind::identifier;
    const bool taken =
        operators.contains(next) || ((next == ";" || next == "]") && (operands.contains(before) || copied));
    if (!taken || before == "&" || before == "++" || before == "--") return false;
  }
  return true;
}

Result<HostValue*> HostInterpreter::global_constant(const GlobalVariable& global, const Expr& use) {
  if (const auto found = globals_.find(&global); found != globals_.end()) return found->second;
  const std::string name(global.variable.name);
  if (global.is_device) {
    return fail("the launcher uses the device variable `" + name + "`", use.token,
                "device memory cannot be read on the host; pass the value as a kernel argument");
  }
  if (!global.is_constant && !is_never_written(global)) {
    // What it holds when the call begins is unknown; what this call stores, it may read again.
    if (global.generic.present || !global.variable.type->suffixes.empty()) {
      const bool pointer = !global.generic.present && global.variable.type->suffixes.size() == 1 &&
                           global.variable.type->suffixes[0].kind == TypeSyntax::Suffix::Kind::pointer;
      if (!pointer) return unset_global(name, use.token);
    }
    KW_TRY(const HostType* type, within({}, global.scope, [&] { return resolve(*global.variable.type); }));
    KW_TRY(HostValue * cell, new_cell(type, use.token));
    *cell = unset_value(type);
    return globals_[&global] = cell;
  }
  if (global.generic.present && use.name.parts.back().arguments.empty()) {
    return unknown("the variable template `" + name + "`", use.token);
  }
  if (!in_progress_.insert(&global).second) return fail("the constant `" + name + "` depends on itself", use.token);
  BoundArguments bindings;
  if (global.generic.present) {
    KW_TRY(const BoundArguments given, evaluate_arguments(use.name.parts.back().arguments));
    KW_TRY(bindings, bind_parameters_of(global.generic, given, name, use.token));
  }
  HostValue* cell = nullptr;
  const Result<void> done = within(std::move(bindings), global.scope, [&]() -> Result<void> {
    KW_TRY_VOID(declare_variable(global.variable));
    cell = frame().scopes.back().variables.back().second;
    return {};
  });
  in_progress_.erase(&global);
  if (!done.ok()) return done.error();
  if (!global.generic.present) globals_[&global] = cell;
  return cell;
}

Result<HostValue> HostInterpreter::enumerator_value(const EnumSyntax& enumeration, std::size_t index) {
  KW_TRY(const HostType* type, enum_type(enumeration));
  std::vector<std::int64_t>& values = enum_values_[&enumeration];
  if (values.empty()) {
    if (!in_progress_.insert(&enumeration).second) {
      // An enumerator may use the ones before it; those that are being computed are not known yet.
      return fail("an enumerator uses its own enum", enumeration.token, "write the value out");
    }
    std::vector<std::int64_t> computed;
    const Result<void> done = within({}, enumeration.scope, [&]() -> Result<void> {
      std::int64_t next = 0;
      for (const auto& [name, expr] : enumeration.enumerators) {
        if (expr != nullptr) {
          KW_TRY(const HostValue value, evaluate_set(*expr));
          if (!value.is_integer_value()) return fail("an enumerator must be a whole number", expr->token);
          next = value.integer();
        }
        KW_TRY(HostValue * cell, new_cell(types_.int_type(), enumeration.token));
        cell->data = next;
        frame().scopes.back().variables.emplace_back(name, cell);
        computed.push_back(next);
        next = static_cast<std::int64_t>(static_cast<std::uint64_t>(next) + 1);
      }
      return {};
    });
    in_progress_.erase(&enumeration);
    if (!done.ok()) return done.error();
    values = std::move(computed);
  }
  KW_CHECK(index < values.size());
  return make_integer(type, values[index]);
}

// A static constexpr member, or an enumerator of an enum inside the struct. An error without a position means that
// there is no such member.
Result<HostValue> HostInterpreter::struct_constant(const HostType& type, std::string_view name, TokenIndex token) {
  const Error none{"`" + type.name + "` has no constant `" + std::string(name) + "`", "", {}};
  if (type.kind != TypeKind::structure) return none;
  if (type.structure->constant_type != nullptr && name == "value") {
    return make_integer(type.structure->constant_type, type.structure->constant);
  }
  if (type.structure->syntax == nullptr) return none;
  const StructSyntax& structure = *type.structure->syntax;
  for (const EnumSyntax* enumeration : structure.enums) {
    for (std::size_t i = 0; i < enumeration->enumerators.size(); ++i) {
      if (enumeration->enumerators[i].first == name) return enumerator_value(*enumeration, i);
    }
  }
  for (const VariableSyntax& constant : structure.constants) {
    if (constant.name != name) continue;
    if (!constant.is_constexpr && !constant.type->is_const)
      return fail("`" + std::string(name) + "` is not a constant", token);
    const StepGuard guard(*this, token);
    if (guard.error) return *guard.error;
    const auto found = struct_bindings_.find(type.plain);
    BoundArguments bindings = found == struct_bindings_.end() ? BoundArguments{} : found->second;
    HostValue value;
    const Result<void> done = within(std::move(bindings), structure.scope, [&]() -> Result<void> {
      frame().self_type = type.plain;
      KW_TRY_VOID(declare_variable(constant));
      value = *frame().scopes.back().variables.back().second;
      return {};
    });
    if (!done.ok()) return at(done.error(), token);
    return value;
  }
  return none;
}

}  // namespace kw
