// Kernel launches: which instance, with which shape and arguments, and whether the hardware would take it.

#include "kernel/source/host_interpreter.h"

namespace kw {
namespace {

constexpr std::uint64_t planned_step_units = 1'000;  // of a WorkBudget

std::uint64_t bytes_of_step(const LaunchStep& step) {
  std::uint64_t bytes = sizeof(LaunchStep) + 64;
  const auto* launch = std::get_if<KernelLaunch>(&step);
  if (launch == nullptr) return bytes;
  bytes += launch->kernel.size();
  for (const KernelArgument& argument : launch->arguments) {
    bytes += sizeof(KernelArgument) + argument.name.size() + argument.type.size() +
             argument.pointers.size() * sizeof(EmbeddedPointer);
    if (const auto* raw = std::get_if<std::string>(&argument.value)) bytes += raw->size();
  }
  return bytes;
}

}  // namespace

Result<void> HostInterpreter::add_step(LaunchStep step, TokenIndex token) {
  if (static_cast<std::int64_t>(plan_.steps.size()) >= limits_.max_launches) {
    return fail(
        "the launcher does more than " + std::to_string(limits_.max_launches) + " launches and memory operations",
        token);
  }
  // Plans are kept until the kernel is judged: a large one for each size is much.
  WorkBudget* const budget = limits_.budget;
  if (budget != nullptr &&
      (!budget->charge(WorkKind::launches, 1, planned_step_units) || !budget->hold(bytes_of_step(step))))
    return at(budget->exceeded_error(), token);
  plan_.steps.push_back(std::move(step));
  return {};
}

Result<bool> HostInterpreter::is_default_stream(const HostValue& value, TokenIndex token) {
  KW_TRY_AT(const HostValue stream, convert(value, types_.basic(TypeKind::stream), Conversion::implicit, types_),
            token);
  const auto* known = std::get_if<StreamValue>(&stream.data);
  if (known == nullptr) return fail("the stream is used before it has a value", token);
  return known->is_default;
}

// Scratch buffers stand behind the launcher's own, in the order of their allocation.
HostInterpreter::Scratch* HostInterpreter::find_scratch(int buffer) {
  const auto index =
      static_cast<std::int64_t>(buffer) - static_cast<std::int64_t>(plan_.buffers.size() - scratch_.size());
  return buffer < 0 || index < 0 ? nullptr : &scratch_[static_cast<std::size_t>(index)];
}

Result<void> HostInterpreter::check_alive(const DevicePointer& pointer, TokenIndex token) {
  if (const Scratch* found = find_scratch(pointer.buffer)) {
    const Scratch& scratch = *found;
    if (scratch.freed) {
      return fail("scratch memory `" + plan_.buffers[static_cast<std::size_t>(scratch.buffer)].name +
                      "` is used after it was freed",
                  token);
    }
  }
  return {};
}

Result<Dim3> HostInterpreter::launch_dimension(const HostValue& value, TokenIndex token) {
  KW_TRY_AT(const HostValue converted, convert(value, types_.dim3_type(), Conversion::implicit, types_), token);
  Dim3 result;
  std::uint32_t* const fields[] = {&result.x, &result.y, &result.z};
  for (std::size_t i = 0; i < 3; ++i) {
    const HostValue& part = converted.parts()[i];
    if (!part.is_integer_value()) return fail("a dim3 is used before it has a value", token);
    *fields[i] = static_cast<std::uint32_t>(part.integer());
  }
  return result;
}

Result<HostInterpreter::KernelInstance> HostInterpreter::kernel_instance(const FunctionValue& function,
                                                                         const std::vector<CallArgument>& arguments,
                                                                         TokenIndex token) {
  KernelInstance kernel;
  KW_TRY(kernel.function, choose_overload(function, arguments, true, token, &kernel.bindings));
  kernel.name = kernel.function->scope.empty() ? std::string(kernel.function->name)
                                               : kernel.function->scope + "::" + std::string(kernel.function->name);
  if (kernel.function->generic.present) kernel.name += "<" + print_arguments(kernel.bindings) + ">";
  return kernel;
}

Result<HostValue> HostInterpreter::evaluate_launch(const Expr& expr) {
  if (expr.config_count < 2 || expr.config_count > 4) {
    return fail("a launch needs <<<grid, block>>>, <<<grid, block, bytes>>> or <<<grid, block, bytes, stream>>>",
                expr.token);
  }
  KW_TRY(const HostValue callee, evaluate_set(*expr.children[0]));
  KW_TRY(const auto function, kernel_of(callee, expr.token));
  LaunchShape shape;
  for (std::size_t i = 0; i < 2; ++i) {
    const Expr& dimension = *expr.children[1 + i];
    HostValue value;
    if (dimension.kind == ExprKind::braces) {
      KW_TRY(value, construct(types_.dim3_type(), dimension.children, true, dimension.token));
    } else {
      KW_TRY(value, evaluate_set(dimension));
    }
    KW_TRY((i == 0 ? shape.grid : shape.block), launch_dimension(value, dimension.token));
  }
  shape.default_stream = true;
  if (expr.config_count >= 3) {
    KW_TRY(const HostValue bytes, evaluate_set(*expr.children[3]));
    KW_TRY(shape.shared_bytes, byte_count(bytes, expr.children[3]->token));
  }
  if (expr.config_count == 4) {
    KW_TRY(const HostValue stream, evaluate_set(*expr.children[4]));
    KW_TRY(shape.default_stream, is_default_stream(stream, expr.children[4]->token));
  }
  KW_TRY(const auto arguments, evaluate_call_arguments(expr, 1 + expr.config_count));
  KW_TRY(const KernelInstance kernel, kernel_instance(*function, arguments, expr.token));
  KW_TRY_VOID(launch(kernel, shape, arguments, expr.token));
  return HostValue{types_.basic(TypeKind::void_), std::int64_t{0}};
}

Result<void> HostInterpreter::check_shape(const KernelInstance& kernel, const LaunchShape& shape, TokenIndex token) {
  const LaunchDevice& device = limits_.device;
  const auto refuse = [&](std::string message, std::string advice) {
    return fail("the launch of `" + kernel.name + "` would fail silently: " + std::move(message), token,
                std::move(advice));
  };
  const auto text = [](const Dim3& d) {
    return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
  };
  const Dim3& grid = shape.grid;
  const Dim3& block = shape.block;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0)
    return refuse("the grid " + text(grid) + " has no blocks", "launch at least one block, or none at all");
  if (block.x == 0 || block.y == 0 || block.z == 0)
    return refuse("the block " + text(block) + " has no threads", "use at least one thread");
  const std::uint64_t wide = std::uint64_t{block.x} * block.y;
  const std::uint64_t threads = wide > (1u << 20) ? wide : wide * block.z;
  const auto limit = static_cast<std::uint64_t>(device.max_threads_per_block);
  if (threads > limit || block.z > 64) {
    return refuse("the block " + text(block) + " has more threads than a block can have",
                  "use at most " + std::to_string(limit) + " threads, 64 in z");
  }
  if (grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535) {
    return refuse("the grid " + text(grid) + " is too large", "x may be up to 2147483647, y and z up to 65535");
  }
  if (shape.shared_bytes > device.shared_bytes_optin) {
    return refuse(std::to_string(shape.shared_bytes) + " bytes of dynamic shared memory are more than the device has",
                  "use at most " + std::to_string(device.shared_bytes_optin));
  }
  const auto allowed = shared_limits_.find(kernel.name);
  const std::uint32_t permitted =
      std::max(device.shared_bytes_default, allowed == shared_limits_.end() ? 0 : allowed->second);
  if (shape.shared_bytes > permitted) {
    return refuse(
        std::to_string(shape.shared_bytes) + " bytes of dynamic shared memory are more than the " +
            std::to_string(permitted) + " that are allowed",
        "call cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) before the launch");
  }
  if (!kernel.function->launch_bounds.empty()) {
    const Expr& bound = *kernel.function->launch_bounds[0];
    const Result<HostValue> most = within(kernel.bindings, kernel.function->scope, [&] { return evaluate_set(bound); });
    if (most.ok() && most->is_integer_value() && static_cast<std::int64_t>(threads) > most->integer()) {
      return refuse(std::to_string(threads) + " threads are more than its __launch_bounds__(" +
                        std::to_string(most->integer()) + ")",
                    "raise the bound or use fewer threads");
    }
  }
  const std::uint64_t resident = static_cast<std::uint64_t>(device.multiprocessors) *
                                 (static_cast<std::uint64_t>(device.max_threads_per_multiprocessor) / threads);
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  if (shape.cooperative && blocks > resident) {
    return refuse(std::to_string(blocks) + " blocks cannot be resident at once",
                  "a cooperative launch needs at most " + std::to_string(resident));
  }
  return {};
}

Result<const HostType*> HostInterpreter::parameter_type(const KernelInstance& kernel,
                                                        const ParameterSyntax& parameter) {
  for (const TypeSyntax::Suffix& suffix : parameter.type->suffixes) {
    using Kind = TypeSyntax::Suffix::Kind;
    if (suffix.kind == Kind::lvalue_reference || suffix.kind == Kind::rvalue_reference) {
      return fail("the kernel `" + kernel.name + "` takes a reference", parameter.token,
                  "kernels take values and pointers");
    }
  }
  return within(kernel.bindings, kernel.function->scope, [&] { return resolve(*parameter.type); });
}

Result<KernelArgument> HostInterpreter::kernel_argument(const KernelInstance& kernel, const ParameterSyntax& parameter,
                                                        const HostValue& value, TokenIndex token) {
  KW_TRY(const HostType* type, parameter_type(kernel, parameter));
  const std::string where = "argument `" + std::string(parameter.name) + "` of `" + kernel.name + "`";
  if (!value.is_set()) return fail(where + " is used before it has a value", token);
  const Result<HostValue> converted = convert(value, type, Conversion::implicit, types_);
  if (!converted.ok()) {
    Error error = at(converted.error(), token);
    error.message = where + ": " + error.message;
    return error;
  }
  KernelArgument argument;
  argument.name = parameter.name;
  argument.type = type->plain->name;
  if (converted->is_device_pointer() && type->kind == TypeKind::pointer) {
    KW_TRY_VOID(check_alive(converted->device_pointer(), token));
    argument.value = converted->device_pointer();
    return argument;
  }
  if (converted->is_host_pointer()) {
    return fail(where + " points to a variable of the host", token, "kernels see device memory only");
  }
  std::string bytes;
  if (!append_bytes(*converted, bytes, argument.pointers)) {
    return fail(where + " has the type " + type->name + ", which cannot be passed to a kernel or is not set completely",
                token);
  }
  for (const EmbeddedPointer& inside : argument.pointers) KW_TRY_VOID(check_alive(inside.pointer, token));
  argument.value = std::move(bytes);
  return argument;
}

Result<void> HostInterpreter::launch(const KernelInstance& kernel, const LaunchShape& shape,
                                     const std::vector<CallArgument>& arguments, TokenIndex token) {
  KW_TRY_VOID(check_shape(kernel, shape, token));
  KernelLaunch step;
  step.kernel = kernel.name;
  step.grid = shape.grid;
  step.block = shape.block;
  step.dynamic_shared_bytes = static_cast<std::uint32_t>(shape.shared_bytes);
  step.cooperative = shape.cooperative;
  step.default_stream = shape.default_stream;
  step.where = program_.position_of(token);
  constexpr std::size_t max_parameter_bytes = 32764;  // since CUDA 12.1, on sm_70 and later
  std::size_t bytes = 0;
  const std::vector<ParameterSyntax>& parameters = kernel.function->parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    HostValue value;
    if (i < arguments.size() && arguments[i].braces == nullptr) {
      value = arguments[i].value;
    } else if (i < arguments.size()) {
      KW_TRY(const HostType* type, parameter_type(kernel, parameters[i]));
      KW_TRY(value, construct(type, arguments[i].braces->children, true, token));
    } else {
      const Expr& initial = *parameters[i].initial;
      KW_TRY(value, within(kernel.bindings, kernel.function->scope, [&] { return evaluate_set(initial); }));
    }
    KW_TRY(KernelArgument argument, kernel_argument(kernel, parameters[i], value, token));
    const auto* raw = std::get_if<std::string>(&argument.value);
    bytes += raw == nullptr ? 8 : raw->size();
    if (bytes > max_parameter_bytes) {
      return fail("the arguments of `" + kernel.name + "` are larger than the " + std::to_string(max_parameter_bytes) +
                      " bytes that a kernel can take",
                  token, "pass a pointer to device memory");
    }
    step.arguments.push_back(std::move(argument));
  }
  return add_step(std::move(step), token);
}

}  // namespace kw
