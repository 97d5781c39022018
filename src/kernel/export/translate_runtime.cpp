// Launches and the CUDA runtime: lines that record a step with `rt`.

#include <array>

#include "kernel/export/launcher_translator.h"

namespace kw {
namespace {

struct DeviceProperty {
  std::string_view field;  // of cudaDeviceProp
  int attribute;           // of the driver; cudaDeviceAttr has the same numbers. Of an array: the first one's
};
constexpr std::array<DeviceProperty, 16> device_properties = {{
    {"multiProcessorCount", 16},
    {"maxThreadsPerBlock", 1},
    {"maxThreadsPerMultiProcessor", 39},
    {"warpSize", 10},
    {"major", 75},
    {"minor", 76},
    {"regsPerBlock", 12},
    {"regsPerMultiprocessor", 82},
    {"l2CacheSize", 38},
    {"maxBlocksPerMultiProcessor", 106},
    {"cooperativeLaunch", 95},
    {"sharedMemPerBlock", 8},
    {"sharedMemPerBlockOptin", 97},
    {"sharedMemPerMultiprocessor", 81},
    {"maxGridSize", 5},
    {"maxThreadsDim", 2},
}};

// `&x`, `(void**)&x`: the expression for x; null when it is not written so.
const Expr* addressed(const Expr& expr) {
  const Expr* at = &expr;
  while (at->kind == ExprKind::cast && !at->children.empty()) at = at->children[0];
  return at->kind == ExprKind::unary && at->text == "&" ? at->children[0] : nullptr;
}

}  // namespace

Result<HostInterpreter::KernelInstance> LauncherTranslator::instance_without_arguments(const FunctionValue& function,
                                                                                       TokenIndex token) {
  const FunctionSyntax* only = nullptr;
  for (const FunctionSyntax* candidate : function.candidates) {
    if (candidate->is_specialisation) continue;
    if (only != nullptr) return refuse("an overloaded kernel as a value", token);
    only = candidate;
  }
  if (only == nullptr || !only->is_global) return refuse("a function as a value", token);
  KernelInstance kernel;
  kernel.function = only;
  kernel.name = only->scope.empty() ? std::string(only->name) : only->scope + "::" + std::string(only->name);
  if (only->generic.present) {
    KW_TRY(kernel.bindings, bind_template(*only, function.explicit_arguments.get(), {}, token));
    kernel.name += "<" + print_arguments(kernel.bindings) + ">";
  }
  return kernel;
}

// A kernel as a value of Python.
Result<std::string> LauncherTranslator::kernel_value(const Code& code, TokenIndex token) {
  if (code.function == nullptr) {
    if (code.type->kind == TypeKind::function || code.type->kind == TypeKind::pointer) return code.text;
    return fail("a value of type " + code.type->name + " is not a kernel", token);
  }
  KW_TRY(const KernelInstance kernel, instance_without_arguments(*code.function, token));
  KW_TRY_VOID(add_kernel(kernel));
  return kernel_text(kernel.name);
}

Result<std::string> LauncherTranslator::size_text(const Expr& expr) {
  KW_TRY(Code code, translate(expr));
  KW_TRY(code, converted(std::move(code), types_.size_type(), Conversion::implicit, expr.token));
  return code.text;
}

Result<std::string> LauncherTranslator::stream_text(const Expr& expr) {
  KW_TRY(Code code, translate(expr));
  KW_TRY(code, converted(std::move(code), types_.basic(TypeKind::stream), Conversion::implicit, expr.token));
  return code.text;
}

Result<std::string> LauncherTranslator::dimension_text(const Expr& expr) {
  Code code;
  if (expr.kind == ExprKind::braces) {
    KW_TRY(code, build(types_.dim3_type(), expr.children, true, expr.token));
  } else {
    KW_TRY(code, translate(expr));
  }
  KW_TRY(code, converted(std::move(code), types_.dim3_type(), Conversion::implicit, expr.token));
  return code.text;
}

Result<LauncherTranslator::Code> LauncherTranslator::launch_expression(const Expr& expr) {
  if (expr.config_count < 2 || expr.config_count > 4) {
    return fail("a launch needs <<<grid, block>>>, <<<grid, block, bytes>>> or <<<grid, block, bytes, stream>>>",
                expr.token);
  }
  KW_TRY(const Code callee, translate(*expr.children[0]));
  KW_TRY(const std::string grid, dimension_text(*expr.children[1]));
  KW_TRY(const std::string block, dimension_text(*expr.children[2]));
  std::string shared = "0", stream = "None";
  if (expr.config_count >= 3) {
    KW_TRY(shared, size_text(*expr.children[3]));
  }
  if (expr.config_count == 4) {
    KW_TRY(stream, stream_text(*expr.children[4]));
  }
  const std::vector<const Expr*> values(expr.children.begin() + 1 + expr.config_count, expr.children.end());
  KW_TRY(std::vector<Argument> arguments, call_arguments(values));
  std::string kernel_name, list;
  if (callee.function != nullptr) {
    const std::vector<CallArgument> types = types_of(arguments);
    KW_TRY(const KernelInstance kernel, kernel_instance(*callee.function, types, expr.token));
    KW_TRY_VOID(add_kernel(kernel));
    kernel_name = kernel_text(kernel.name);
    const std::vector<ParameterSyntax>& parameters = kernel.function->parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      KW_TRY(const HostType* type, parameter_type(kernel, parameters[i]));
      Code code;
      if (i < arguments.size() && arguments[i].braces != nullptr) {
        KW_TRY(code, build(type, arguments[i].braces->children, true, expr.token));
      } else if (i < arguments.size()) {
        code = arguments[i].code;
      } else {
        const Expr& initial = *parameters[i].initial;
        KW_TRY(code, within(kernel.bindings, kernel.function->scope, [&] { return translate(initial); }));
      }
      KW_TRY(code, converted(std::move(code), type, Conversion::implicit, expr.token));
      list += kept(code) + ", ";
    }
  } else {  // a kernel that a variable holds: its parameters are known when it is launched
    KW_TRY(kernel_name, kernel_value(callee, expr.token));
    for (const Argument& argument : arguments) {
      if (argument.braces != nullptr || argument.code.closure != nullptr) {
        return refuse("this argument of a kernel that a variable holds", expr.token);
      }
      list += kept(argument.code) + ", ";
    }
  }
  emit("rt.launch(" + kernel_name + ", " + grid + ", " + block + ", " + shared + ", " + stream + ", (" + list + "), " +
       std::to_string(program_.position_of(expr.token).line) + ")");
  return plain(types_.basic(TypeKind::void_), "None");
}

// Stores a result through the `&x` that a runtime function was given.
Result<void> LauncherTranslator::store_out(const Expr& pointer, const HostType* type, const std::string& text) {
  if (const Expr* variable = addressed(pointer)) {
    KW_TRY(const Target target, target_of(*variable));
    if (type == nullptr) return write(target, plain(target.type, text));  // a device pointer of any type
    KW_TRY(const Code code, converted(plain(type, text), target.type, Conversion::cast, pointer.token));
    return write(target, code);
  }
  KW_TRY(const Code code, translate(pointer));
  if (code.type->kind != TypeKind::pointer) return refuse("this argument", pointer.token);
  emit(code.text + ".value = " + text);
  return {};
}

Result<std::optional<LauncherTranslator::Code>> LauncherTranslator::device_query(std::string_view name,
                                                                                 const Expr& expr) {
  using Maybe = std::optional<Code>;
  const auto argument = [&](std::size_t i) -> const Expr& { return *expr.children[i + 1]; };
  const HostType* whole = types_.int_type();
  if (name == "cudaGetDevice") {
    KW_TRY_VOID(store_out(argument(0), whole, "0"));
  } else if (name == "cudaDeviceGetAttribute") {
    KW_TRY(const Code attribute, translate(argument(1)));
    KW_TRY_VOID(store_out(argument(0), whole, "rt.attribute(" + attribute.text + ")"));
  } else if (name == "cudaGetDeviceProperties") {
    const HostType* type = types_.named("cudaDeviceProp");
    std::string parts;
    for (const FieldType& field : type->structure->fields) {
      for (const DeviceProperty& property : device_properties) {
        if (property.field != field.name) continue;
        const bool array = field.type->kind == TypeKind::array;
        std::string values;
        for (int i = 0; i < (array ? static_cast<int>(field.type->count) : 1); ++i)
          values += (i == 0 ? "" : ", ") + ("rt.attribute(" + std::to_string(property.attribute + i)) + ")";
        parts += (parts.empty() ? "" : ", ") + (array ? "Array([" + values + "])" : values);
      }
    }
    KW_TRY_VOID(store_out(argument(0), type, record_class(*type) + "(" + parts + ")"));
  } else if (name == "cudaOccupancyMaxActiveBlocksPerMultiprocessor") {
    KW_TRY(const Code code, translate(argument(1)));
    KW_TRY(const std::string kernel, kernel_value(code, expr.token));
    KW_TRY(const std::string threads, size_text(argument(2)));
    KW_TRY(const std::string shared, size_text(argument(3)));
    KW_TRY_VOID(store_out(argument(0), whole, "rt.occupancy(" + kernel + ", " + threads + ", " + shared + ")"));
  } else {
    return Maybe();
  }
  return Maybe(code_of(success()));
}

Result<std::optional<LauncherTranslator::Code>> LauncherTranslator::runtime_call(std::string_view name,
                                                                                 const Expr& expr) {
  using Maybe = std::optional<Code>;
  if (!name.starts_with("cuda")) return Maybe();
  const std::string line = std::to_string(program_.position_of(expr.token).line);
  const std::size_t count = expr.children.size() - 1;
  const auto argument = [&](std::size_t i) -> const Expr& { return *expr.children[i + 1]; };
  const auto wrong = [&](std::size_t least) { return count < least; };
  const Error arity =
      fail("`" + std::string(name) + "` does not take " + std::to_string(count) + " arguments", expr.token);
  if (name == "cudaGetErrorString" || name == "cudaGetErrorName") {
    return Maybe(plain(types_.basic(TypeKind::string), "\"\""));
  }
  if (name == "cudaGetLastError" || name == "cudaPeekAtLastError" || name == "cudaDeviceSynchronize" ||
      name == "cudaStreamSynchronize" || name == "cudaFuncSetCacheConfig") {
    return Maybe(code_of(success()));  // errors raise, and the caller decides when to wait
  }
  if (name == "cudaMalloc" || name == "cudaMallocAsync") {
    if (wrong(2)) return arity;
    KW_TRY(const std::string bytes, size_text(argument(1)));
    KW_TRY_VOID(store_out(argument(0), nullptr,
                          "rt.allocate(\"" + variable_name(argument(0)) + "\", " + bytes + ", " + line + ")"));
    return Maybe(code_of(success()));
  }
  if (name == "cudaFree" || name == "cudaFreeAsync") {
    if (wrong(1)) return arity;
    KW_TRY(const Code pointer, translate(argument(0)));
    emit("rt.free(" + pointer.text + ", " + line + ")");
    return Maybe(code_of(success()));
  }
  if (name == "cudaMemset" || name == "cudaMemsetAsync") {
    if (wrong(3)) return arity;
    KW_TRY(const Code pointer, translate(argument(0)));
    KW_TRY(Code value, translate(argument(1)));
    KW_TRY(value, converted(std::move(value), types_.int_type(), Conversion::implicit, expr.token));
    KW_TRY(const std::string bytes, size_text(argument(2)));
    emit("rt.memset(" + pointer.text + ", " + value.text + ", " + bytes + ", " + line + ")");
    return Maybe(code_of(success()));
  }
  if (name == "cudaMemcpy" || name == "cudaMemcpyAsync") {
    if (wrong(4)) return arity;
    KW_TRY(const Code target, translate(argument(0)));
    KW_TRY(const Code source, translate(argument(1)));
    KW_TRY(const std::string bytes, size_text(argument(2)));
    KW_TRY(const Code kind, translate(argument(3)));
    emit("rt.copy(" + target.text + ", " + source.text + ", " + bytes + ", " + kind.text + ", " + line + ")");
    return Maybe(code_of(success()));
  }
  if (name == "cudaFuncSetAttribute") {
    if (wrong(3)) return arity;
    KW_TRY(const Code code, translate(argument(0)));
    KW_TRY(const Code attribute, translate(argument(1)));
    KW_TRY(Code amount, translate(argument(2)));
    KW_TRY(amount, converted(std::move(amount), types_.int_type(), Conversion::implicit, expr.token));
    if (attribute.constant && attribute.constant->integer() == 9) return Maybe(code_of(success()));  // a hint
    if (!attribute.constant || attribute.constant->integer() != 8) {
      return refuse("this attribute of cudaFuncSetAttribute", expr.token);
    }
    KW_TRY(const std::string kernel, kernel_value(code, expr.token));
    emit("rt.allow_shared(" + kernel + ", " + amount.text + ", " + line + ")");
    return Maybe(code_of(success()));
  }
  if (name == "cudaLaunchKernel" || name == "cudaLaunchCooperativeKernel") {
    if (wrong(4)) return arity;
    KW_TRY(const Code code, translate(argument(0)));
    KW_TRY(const std::string kernel, kernel_value(code, expr.token));
    KW_TRY(const std::string grid, dimension_text(argument(1)));
    KW_TRY(const std::string block, dimension_text(argument(2)));
    KW_TRY(const Code list, translate(argument(3)));
    std::string shared = "0", stream = "None";
    if (count > 4) {
      KW_TRY(shared, size_text(argument(4)));
    }
    if (count > 5) {
      KW_TRY(stream, stream_text(argument(5)));
    }
    emit("rt.launch_through(" + kernel + ", " + grid + ", " + block + ", " + list.text + ", " + shared + ", " + stream +
         ", " + (name == "cudaLaunchKernel" ? "False" : "True") + ", " + line + ")");
    return Maybe(code_of(success()));
  }
  KW_TRY(Maybe query, device_query(name, expr));
  if (query) return query;
  return refuse("`" + std::string(name) + "`", expr.token);
}

}  // namespace kw
