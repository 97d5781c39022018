#include "kernel/source/interpreter.h"

#include "kernel/source/host_interpreter.h"

namespace kw {
namespace {

constexpr std::uint64_t step_units = 150;  // of a WorkBudget: about nanoseconds

TypeKind kind_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return TypeKind::float_;
    case Dtype::float64:
      return TypeKind::double_;
    case Dtype::float16:
      return TypeKind::half;
    case Dtype::bfloat16:
      return TypeKind::bfloat16;
    case Dtype::int32:
      return TypeKind::int_;
    case Dtype::int64:
      return TypeKind::longlong;
    case Dtype::int8:
      return TypeKind::schar;
    case Dtype::uint8:
      return TypeKind::uchar;
    case Dtype::boolean:
      return TypeKind::bool_;
  }
  return TypeKind::void_;
}

}  // namespace

std::vector<const KernelLaunch*> LaunchPlan::launches() const {
  std::vector<const KernelLaunch*> result;
  for (const LaunchStep& step : steps) {
    if (const auto* launch = std::get_if<KernelLaunch>(&step)) result.push_back(launch);
  }
  return result;
}

HostInterpreter::HostInterpreter(const HostProgram& program, const Task& task, const Sizes& sizes,
                                 const PlanLimits& limits, const ScalarInputs& scalars)
    : program_(program),
      task_(task),
      sizes_(sizes),
      limits_(limits),
      scalars_(scalars),
      index_(program),
      steps_left_(limits.max_steps),
      steps_unpaid_from_(limits.max_steps),
      array_elements_left_(limits.max_array_elements) {}

Error HostInterpreter::fail(std::string message, TokenIndex token, std::string advice) const {
  return Error{std::move(message), std::move(advice), program_.position_of(token)};
}

Error HostInterpreter::unknown(std::string what, TokenIndex token, std::string advice) const {
  return fail("the launcher uses " + std::move(what) + ", which the interpreter does not know", token,
              std::move(advice));
}

Error HostInterpreter::at(Error error, TokenIndex token) const {
  if (error.where.line == 0) error.where = program_.position_of(token);
  return error;
}

const FunctionSyntax& HostInterpreter::launcher() const {
  const FunctionSyntax* launcher = nullptr;
  for (const FunctionSyntax* function : program_.functions) {
    if (function->name == "launch" && function->scope.empty() && function->has_body && !function->is_global) {
      launcher = function;
    }
  }
  KW_CHECK(launcher != nullptr);  // read_kernel_file found it
  return *launcher;
}

Result<LaunchPlan> HostInterpreter::run() {
  stack_base_ = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (program_.extension_entry != nullptr) return run_extension(*program_.extension_entry);
  const FunctionSyntax* launcher = &this->launcher();
  frames_.push_back(std::make_unique<Frame>());
  open_scope();
  KW_TRY_VOID(check_signature(*launcher));
  KW_TRY_VOID(check_static_asserts());
  if (launcher->body_error) return *launcher->body_error;
  KW_CHECK(launcher->body != nullptr);
  KW_TRY_VOID(bind_parameters(*launcher));
  frame().result = types_.basic(TypeKind::void_);
  KW_TRY(const Flow flow, execute(*launcher->body));
  static_cast<void>(flow);
  KW_TRY_VOID(check_scratch_freed());
  if (!pay_steps()) return limits_.budget->exceeded_error();
  return std::move(plan_);
}

bool HostInterpreter::pay_steps() {
  const auto steps = static_cast<std::uint64_t>(steps_unpaid_from_ - steps_left_);
  steps_unpaid_from_ = steps_left_;
  return limits_.budget == nullptr || limits_.budget->charge(WorkKind::launcher_steps, steps, steps * step_units);
}

Result<void> HostInterpreter::check_static_asserts() {
  for (const auto& [condition_expr, scope] : program_.static_asserts) {
    const Expr& expr = *condition_expr;
    const Result<bool> holds = within({}, scope, [&] { return condition(expr); });
    // One that cannot be evaluated here may well be meant for the device compiler.
    if (holds.ok() && !*holds) return fail("a static_assert fails", expr.token);
  }
  return {};
}

Result<void> HostInterpreter::check_signature(const FunctionSyntax& launcher) {
  const std::vector<Parameter> expected = task_.parameters();
  const auto refuse = [&](std::string message, TokenIndex token) {
    return fail(std::move(message), token, "the task expects: " + task_.launcher_declaration());
  };
  KW_TRY(const HostType* result, resolve(*launcher.result));
  if (result->kind != TypeKind::void_) return refuse("the launcher must return void", launcher.token);
  if (launcher.parameters.size() != expected.size()) {
    return refuse("the launcher has " + std::to_string(launcher.parameters.size()) + " parameters, not " +
                      std::to_string(expected.size()),
                  launcher.token);
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const ParameterSyntax& parameter = launcher.parameters[i];
    KW_TRY(const HostType* type, resolve(*parameter.type));
    const HostType* element =
        types_.basic(expected[i].role == Parameter::Role::stream ? TypeKind::stream : kind_of(expected[i].dtype));
    const HostType* wanted = element;
    if (expected[i].role == Parameter::Role::input) wanted = types_.pointer_to(types_.with_const(element));
    if (expected[i].role == Parameter::Role::output) wanted = types_.pointer_to(element);
    if (type->plain != wanted) {
      return refuse(
          "parameter " + std::to_string(i + 1) + " of the launcher is " + type->name + ", not " + wanted->name,
          parameter.token);
    }
  }
  return {};
}

Result<void> HostInterpreter::bind_parameters(const FunctionSyntax& launcher) {
  const std::vector<Parameter> expected = task_.parameters();
  const auto find_tensor = [&](const std::vector<TensorSpec>& tensors, const std::string& name) -> const TensorSpec& {
    for (const TensorSpec& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    KW_CHECK(false);
    return tensors.front();
  };
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Parameter& role = expected[i];
    const ParameterSyntax& parameter = launcher.parameters[i];
    KW_TRY(const HostType* type, resolve(*parameter.type));
    KW_TRY(HostValue * cell, declare(parameter.name, type, parameter.token));
    switch (role.role) {
      case Parameter::Role::input:
      case Parameter::Role::output: {
        const bool input = role.role == Parameter::Role::input;
        const TensorSpec& tensor = find_tensor(input ? task_.inputs : task_.outputs, role.name);
        KW_TRY(const std::int64_t elements, tensor.elements_at(sizes_));
        cell->data = DevicePointer{static_cast<int>(plan_.buffers.size()), 0};
        plan_.buffers.push_back({input ? Buffer::Kind::input : Buffer::Kind::output, role.name,
                                 static_cast<std::uint64_t>(elements) * bytes_of(tensor.dtype)});
        break;
      }
      case Parameter::Role::scalar: {
        const auto found = scalars_.find(role.name);
        const HostValue given = make_real(types_.basic(TypeKind::double_), found == scalars_.end() ? 1 : found->second);
        KW_TRY_AT(*cell, convert(given, type, Conversion::cast, types_), parameter.token);
        cell->type = type;
        break;
      }
      case Parameter::Role::size: {
        const auto found = sizes_.find(role.name);
        if (found == sizes_.end()) return fail("the size " + role.name + " is not given", parameter.token);
        if (found->second < 0 || found->second > 2147483647) {
          return fail("the size " + role.name + " does not fit int", parameter.token);
        }
        cell->data = found->second;
        break;
      }
      case Parameter::Role::stream:
        cell->data = StreamValue{};
        break;
    }
  }
  return {};
}

Result<void> HostInterpreter::check_scratch_freed() {
  for (const Scratch& scratch : scratch_) {
    if (!scratch.freed && !scratch.of_tensor) {
      return fail("scratch memory `" + plan_.buffers[static_cast<std::size_t>(scratch.buffer)].name +
                      "` is allocated and never freed",
                  scratch.token, "call cudaFreeAsync(pointer, stream) before the launcher returns");
    }
  }
  return {};
}

Result<LaunchPlan> make_launch_plan(const KernelFile& file, const Task& task, const Sizes& sizes,
                                    const PlanLimits& limits, const ScalarInputs& scalars) {
  KW_CHECK(file.program != nullptr);
  return HostInterpreter(*file.program, task, sizes, limits, scalars).run();
}

}  // namespace kw
