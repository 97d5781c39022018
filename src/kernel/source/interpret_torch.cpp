// PyTorch's names in host code: types, constants, checks, dispatch over element types, new tensors. What computes is
// refused by its name.

#include <algorithm>

#include "kernel/source/host_interpreter.h"

namespace kw {
namespace {

bool is_torch_namespace(std::string_view name) { return name == "torch" || name == "at" || name == "c10"; }

struct Dispatch {
  std::vector<Dtype> types;
  std::size_t given = 0;  // arguments in front that name further types
};

// AT_DISPATCH_FLOATING_TYPES_AND2: the types of its name, and how many more the call names.
std::optional<Dispatch> dispatch_of(std::string_view name) {
  Dispatch result;
  const auto take = [&](std::string_view word) {
    if (!name.starts_with(word)) return false;
    name.remove_prefix(word.size());
    return true;
  };
  if (!take("AT_DISPATCH_")) return std::nullopt;
  const std::vector<Dtype> integers = {Dtype::uint8, Dtype::int8, Dtype::int32, Dtype::int64};
  if (take("FLOATING_AND_COMPLEX_TYPES") || take("FLOATING_TYPES")) {
    result.types = {Dtype::float64, Dtype::float32};
  } else if (take("INTEGRAL_TYPES")) {
    result.types = integers;
  } else if (take("ALL_TYPES")) {
    result.types = integers;
    result.types.insert(result.types.end(), {Dtype::float64, Dtype::float32});
  } else if (take("REDUCED_FLOATING_TYPES")) {
    result.types = {Dtype::float16, Dtype::bfloat16};
  } else if (take("INDEX_TYPES")) {
    result.types = {Dtype::int32, Dtype::int64};
  } else {
    return std::nullopt;
  }
  if (take("_AND_HALF")) result.types.push_back(Dtype::float16);
  take("_AND_COMPLEX");
  if (take("_AND")) {
    result.given = name.empty() ? 1 : name.size() == 1 && name[0] >= '2' && name[0] <= '8' ? name[0] - '0' : 0;
    if (result.given == 0) return std::nullopt;
    name = {};
  }
  if (!name.empty()) return std::nullopt;
  return result;
}

}  // namespace

Error HostInterpreter::computes(std::string what, TokenIndex token) const {
  return fail("the host code uses " + std::move(what) + ", which computes outside of this file's kernels", token,
              "compute the result in kernels of this file");
}

Result<const HostType*> HostInterpreter::torch_type(const Name& name, std::size_t parts, TokenIndex token) {
  const NamePart& last = name.parts[parts - 1];
  const std::string_view space = parts > 1 ? name.parts[0].name : std::string_view();
  if (parts > 1 && space != "std" && !is_torch_namespace(space)) return nullptr;
  const bool one = last.arguments.size() >= 1 && last.arguments[0].type != nullptr;
  if (last.name == "vector" || last.name == "ArrayRef" || last.name == "optional") {
    if (!one) return unknown("the type `" + kw::print(name).substr(0, 80) + "`", token);
    KW_TRY(const HostType* element, resolve(*last.arguments[0].type));
    element = element->plain;
    if (!is_arithmetic(*element) && element->kind != TypeKind::tensor) {
      return unknown("`" + std::string(last.name) + "` of " + element->name, token);
    }
    return last.name == "optional" ? types_.optional_of(element) : types_.list_of(element);
  }
  if (last.name == "IntArrayRef") return types_.list_of(types_.basic(TypeKind::long_));
  if (last.name == "string") return types_.basic(TypeKind::string);
  if (last.name == "tuple" || last.name == "pair") {
    std::vector<const HostType*> fields;
    for (const TemplateArgument& argument : last.arguments) {
      if (argument.type == nullptr) return unknown("this std::tuple", token);
      KW_TRY(const HostType* field, resolve(*argument.type));
      fields.push_back(field->plain);
    }
    return tuple_type(fields, token);
  }
  return types_.torch_named(last.name);
}

Result<const HostType*> HostInterpreter::tuple_type(const std::vector<const HostType*>& fields, TokenIndex token) {
  constexpr std::size_t max_fields = 16;
  std::string name = "std::tuple<";
  for (const HostType* field : fields) {
    if (!is_arithmetic(*field) && field->kind != TypeKind::tensor) return unknown("a tuple of " + field->name, token);
    name += (field == fields.front() && name.ends_with('<') ? "" : ", ") + field->name;
  }
  name += ">";
  if (fields.empty() || fields.size() > max_fields) return unknown("a tuple of this length", token);
  if (const auto found = structs_.find(name); found != structs_.end()) return found->second;
  StructType tuple;
  tuple.name = name;
  for (std::size_t i = 0; i < fields.size(); ++i) tuple.fields.push_back({std::to_string(i), fields[i], 0, nullptr});
  return structs_[name] = types_.make_struct(std::move(tuple), 0);
}

std::optional<HostValue> HostInterpreter::torch_constant(const Name& name) {
  const std::string_view last = name.parts.back().name;
  const std::string_view owner = name.parts.size() > 1 ? name.parts[name.parts.size() - 2].name : std::string_view();
  const bool known_space = owner.empty() || is_torch_namespace(owner) || owner == "std";
  if (last == "nullopt" && known_space) {
    return HostValue{types_.torch_named("nullopt_t"), HostValue::Aggregate{}};
  }
  const bool device = (owner == "DeviceType" && (last == "CUDA" || last == "CPU")) ||
                      (known_space && (last == "kCUDA" || last == "kCPU"));
  if (device) return make_integer(types_.torch_named("DeviceType"), last.ends_with("CUDA") ? 1 : 0);
  const bool constant = known_space && last.size() > 1 && last[0] == 'k';
  if (owner != "ScalarType" && !constant) return std::nullopt;
  const auto type = scalar_type_named(last);
  if (!type) return std::nullopt;
  return make_integer(types_.torch_named("ScalarType"), type->number);
}

Result<std::optional<HostValue>> HostInterpreter::call_torch(const Name& name, const Expr& expr) {
  const std::string_view last = name.parts.back().name;
  const std::string_view space = name.parts.size() > 1 ? name.parts[0].name : std::string_view();
  if (space.empty()) {
    KW_TRY(auto result, call_torch_macro(last, expr));
    if (result) return result;
  }
  if (last == "make_tuple" || last == "make_pair") {
    KW_TRY(HostValue tuple, call_make_tuple(expr));
    return std::optional(std::move(tuple));
  }
  if (!space.empty() && !is_torch_namespace(space)) return std::optional<HostValue>();
  KW_TRY(auto result, call_torch_function(last, expr));
  if (result || space.empty()) return result;
  return computes("`" + kw::print(name).substr(0, 80) + "`", expr.token);
}

Result<std::optional<HostValue>> HostInterpreter::call_torch_macro(std::string_view name, const Expr& expr) {
  using Maybe = std::optional<HostValue>;
  const auto some = [](Result<HostValue> result) -> Result<Maybe> {
    if (!result.ok()) return std::move(result).error();
    return Maybe(std::move(result).value());
  };
  if (name.starts_with("AT_DISPATCH_")) return some(call_dispatch(name, expr));
  if (name == "TORCH_CHECK" || name == "TORCH_INTERNAL_ASSERT" || name == "AT_ASSERTM" || name == "AT_ASSERT" ||
      name == "TORCH_CHECK_VALUE" || name == "TORCH_CHECK_ARG") {
    return some(call_check(name, expr));
  }
  if (name == "AT_ERROR") return fail("the host code throws: AT_ERROR is reached for these sizes", expr.token);
  if (name == "TORCH_WARN" || name == "TORCH_WARN_ONCE" || name == "C10_CUDA_KERNEL_LAUNCH_CHECK")
    return Maybe(nothing());
  if (name == "AT_CUDA_CHECK" || name == "C10_CUDA_CHECK" || name == "TORCH_CUDA_CHECK") {
    if (expr.children.size() != 2) return fail("`" + std::string(name) + "` takes one argument", expr.token);
    KW_TRY(const HostValue ignored, evaluate_set(*expr.children[1]));
    static_cast<void>(ignored);
    return Maybe(nothing());
  }
  return Maybe();
}

// The message is only made where the check fails, as in C++.
Result<HostValue> HostInterpreter::call_check(std::string_view name, const Expr& expr) {
  if (expr.children.size() < 2) return fail("`" + std::string(name) + "` needs a condition", expr.token);
  KW_TRY(const bool holds, condition(*expr.children[1]));
  if (holds) return nothing();
  std::string message = std::string(name) + " fails for these inputs";
  for (std::size_t i = 2; i < expr.children.size(); ++i) {
    if (expr.children[i]->kind != ExprKind::string) continue;
    message += ": " + std::string(expr.children[i]->text.substr(0, 120));
    break;
  }
  return fail(message, expr.token);
}

Result<Dtype> HostInterpreter::dispatched_type(std::string_view name, const Expr& expr) {
  KW_TRY(const HostValue value, evaluate_set(expr));
  if (value.type->plain != types_.torch_named("ScalarType")) {
    return fail("`" + std::string(name) + "` needs an element type such as x.scalar_type()", expr.token);
  }
  const auto type = scalar_type_numbered(value.integer());
  if (!type) return unknown("this element type", expr.token);
  return type->dtype;
}

// Runs the lambda with scalar_t, or index_t, as the element type.
Result<HostValue> HostInterpreter::run_dispatched(std::string_view name, Dtype type, const Expr& lambda) {
  KW_TRY(const HostValue body, evaluate_set(lambda));
  const auto* closure = std::get_if<std::shared_ptr<const Closure>>(&body.data);
  if (closure == nullptr) return fail("`" + std::string(name) + "` needs a lambda", lambda.token);
  Closure chosen = **closure;
  const std::string_view alias = name == "AT_DISPATCH_INDEX_TYPES" ? "index_t" : "scalar_t";
  chosen.types.insert(chosen.types.begin(), {alias, element_type(type, types_)});
  return call_closure(chosen, {}, lambda.token);
}

Result<HostValue> HostInterpreter::call_dispatch(std::string_view name, const Expr& expr) {
  if (name == "AT_DISPATCH_SWITCH") return call_dispatch_switch(expr);
  auto dispatch = dispatch_of(name);
  if (!dispatch) return unknown("`" + std::string(name) + "`", expr.token);
  const std::size_t count = expr.children.size() - 1;
  if (count != dispatch->given + 3) {
    return fail("`" + std::string(name) + "` takes " + std::to_string(dispatch->given + 3) + " arguments", expr.token);
  }
  for (std::size_t i = 0; i < dispatch->given; ++i) {
    KW_TRY(const Dtype more, dispatched_type(name, *expr.children[1 + i]));
    dispatch->types.push_back(more);
  }
  KW_TRY(const Dtype type, dispatched_type(name, *expr.children[dispatch->given + 1]));
  if (std::find(dispatch->types.begin(), dispatch->types.end(), type) == dispatch->types.end()) {
    return fail("`" + std::string(name) + "` has no case for " + element_type(type, types_)->name, expr.token);
  }
  return run_dispatched(name, type, *expr.children[count]);
}

// AT_DISPATCH_SWITCH(type, "name", AT_DISPATCH_CASE(kHalf, lambda) AT_DISPATCH_CASE_FLOATING_TYPES(lambda))
Result<HostValue> HostInterpreter::call_dispatch_switch(const Expr& expr) {
  constexpr std::string_view one_type = "AT_DISPATCH_CASE", prefix = "AT_DISPATCH_CASE_";
  if (expr.children.size() < 4) return fail("`AT_DISPATCH_SWITCH` needs a type, a name and its cases", expr.token);
  KW_TRY(const Dtype type, dispatched_type("AT_DISPATCH_SWITCH", *expr.children[1]));
  for (std::size_t i = 3; i < expr.children.size(); ++i) {
    const Expr& branch = *expr.children[i];
    const bool call = branch.kind == ExprKind::call && branch.children[0]->kind == ExprKind::name;
    const std::string name(call ? branch.children[0]->name.parts.back().name : std::string_view());
    std::optional<Dispatch> dispatch;
    if (name == one_type) {
      dispatch = Dispatch{{}, 1};
    } else if (name.starts_with(prefix)) {
      dispatch = dispatch_of("AT_DISPATCH_" + name.substr(prefix.size()));
    }
    if (!dispatch) return unknown("this case of `AT_DISPATCH_SWITCH`", branch.token);
    if (branch.children.size() != dispatch->given + 2) {
      return fail("`" + name + "` takes " + std::to_string(dispatch->given + 1) + " arguments", branch.token);
    }
    for (std::size_t k = 0; k < dispatch->given; ++k) {
      KW_TRY(const Dtype more, dispatched_type(name, *branch.children[1 + k]));
      dispatch->types.push_back(more);
    }
    if (std::find(dispatch->types.begin(), dispatch->types.end(), type) == dispatch->types.end()) continue;
    return run_dispatched(name, type, *branch.children.back());
  }
  return fail("`AT_DISPATCH_SWITCH` has no case for " + element_type(type, types_)->name, expr.token);
}

HostValue HostInterpreter::make_options(int scalar_type, bool on_gpu) {
  HostValue::Aggregate parts = {make_integer(types_.torch_named("ScalarType"), scalar_type),
                                make_integer(types_.bool_type(), on_gpu)};
  return HostValue{types_.torch_named("TensorOptions"), std::move(parts)};
}

// What stands where TensorOptions are wanted: options, or one property of them.
Result<HostValue> HostInterpreter::options_of(const HostValue& value, TokenIndex token) {
  constexpr int float_number = 6;
  if (value.type->plain == types_.torch_named("TensorOptions")) return value;
  if (value.type->plain == types_.torch_named("ScalarType")) {
    return make_options(static_cast<int>(value.integer()), false);
  }
  if (value.type->plain == types_.torch_named("DeviceType")) return make_options(float_number, value.integer() == 1);
  return fail("a value of type " + value.type->name + " is used as TensorOptions", token);
}

Result<HostValue> HostInterpreter::call_options(const HostValue& self, const Expr& expr, const Expr& callee) {
  const std::string_view name = callee.text;
  HostValue options = self;
  options.type = options.type->plain;
  const std::size_t count = expr.children.size() - 1;
  if (name == "requires_grad" || name == "layout" || name == "memory_format") {
    if (name != "requires_grad") return unknown("`" + std::string(name) + "` of TensorOptions", callee.token);
    return options;
  }
  if (count == 0 && name == "dtype") return options.parts()[0];
  if (count == 0 && name == "device") {
    return make_integer(types_.torch_named("DeviceType"), options.parts()[1].integer());
  }
  if ((name != "dtype" || count != 1) && (name != "device" || count < 1 || count > 2)) {
    return unknown("`" + std::string(name) + "` of TensorOptions", callee.token);
  }
  KW_TRY(const HostValue value, evaluate_set(*expr.children[1]));
  const bool dtype = name == "dtype";
  if (value.type->plain != types_.torch_named(dtype ? "ScalarType" : "DeviceType")) {
    return fail("`" + std::string(name) + "` gets " + value.type->name, callee.token);
  }
  options.parts()[dtype ? 0 : 1].data = value.integer();
  return options;
}

Result<std::optional<HostValue>> HostInterpreter::call_torch_function(std::string_view name, const Expr& expr) {
  using Maybe = std::optional<HostValue>;
  const auto some = [](Result<HostValue> result) -> Result<Maybe> {
    if (!result.ok()) return std::move(result).error();
    return Maybe(std::move(result).value());
  };
  const std::size_t count = expr.children.size() - 1;
  if (name == "empty" || name == "zeros" || name == "ones" || name == "full") return some(call_new_tensor(name, expr));
  if (name == "empty_like" || name == "zeros_like" || name == "ones_like" || name == "full_like") {
    return some(call_like_tensor(name, expr));
  }
  if ((name == "dtype" || name == "device") && count == 1) {
    KW_TRY(const HostValue value, evaluate_set(*expr.children[1]));
    return some(options_of(value, expr.token));
  }
  if (name == "getCurrentCUDAStream" || name == "getDefaultCUDAStream") {
    if (count > 1) return fail("`" + std::string(name) + "` takes at most a device", expr.token);
    return Maybe(HostValue{types_.basic(TypeKind::stream), StreamValue{name == "getDefaultCUDAStream"}});
  }
  if (name == "device_of" && count == 1) {
    KW_TRY(const HostValue tensor, evaluate_set(*expr.children[1]));
    static_cast<void>(tensor);
    return Maybe(make_integer(types_.torch_named("DeviceType"), 1));
  }
  if (name == "current_device" && count == 0) return Maybe(make_integer(types_.basic(TypeKind::schar), 0));
  if (name == "getCurrentDeviceProperties" && count == 0) {
    const HostType* type = types_.named("cudaDeviceProp");
    KW_TRY(HostValue properties, default_value(type, expr.token));
    KW_TRY(HostValue * cell, new_cell(type, expr.token));
    cell->data = std::move(properties.data);
    const HostValue pointer{types_.pointer_to(type), HostPointer{cell, -1}};
    KW_TRY(const HostValue ignored, runtime_device_properties({pointer}, expr));
    static_cast<void>(ignored);
    return Maybe(pointer);
  }
  if ((name == "ceil_div" || name == "ATenCeilDiv") && count == 2) {
    KW_TRY(const HostValue a, evaluate_set(*expr.children[1]));
    KW_TRY(const HostValue b, evaluate_set(*expr.children[2]));
    KW_TRY_AT(const HostValue sum, apply_binary("+", a, b, types_), expr.token);
    KW_TRY_AT(const HostValue less, apply_binary("-", sum, make_integer(types_.int_type(), 1), types_), expr.token);
    return some(apply_binary("/", less, b, types_));
  }
  return Maybe();
}

Result<HostValue> HostInterpreter::call_new_tensor(std::string_view name, const Expr& expr) {
  const bool full = name == "full";
  const std::size_t least = full ? 2 : 1;
  const std::size_t count = expr.children.size() - 1;
  if (count < least || count > least + 1) {
    return unknown("`" + std::string(name) + "` with " + std::to_string(count) + " arguments", expr.token);
  }
  KW_TRY(std::vector<std::int64_t> sizes, sizes_argument(expr, 1, expr.token));
  HostValue value = make_integer(types_.int_type(), name == "ones" ? 1 : 0);
  if (full) {
    KW_TRY(value, evaluate_set(*expr.children[2]));
  }
  HostValue options = make_options(6, false);
  if (count > least) {
    KW_TRY(const HostValue given, evaluate_set(*expr.children[count]));
    KW_TRY(options, options_of(given, expr.token));
  }
  if (options.parts()[1].integer() == 0) {
    return fail("`" + std::string(name) + "` makes a tensor on the CPU, where no kernel can reach it", expr.token,
                "give it the options of an input: x.options()");
  }
  const auto type = scalar_type_numbered(options.parts()[0].integer());
  if (!type) return unknown("this element type", expr.token);
  KW_TRY(HostValue tensor, allocate_tensor(element_type(type->dtype, types_), std::move(sizes), expr.token));
  if (name != "empty") {
    KW_TRY_VOID(fill_tensor(*std::get<std::shared_ptr<const TensorValue>>(tensor.data), value, expr.token));
  }
  return tensor;
}

Result<HostValue> HostInterpreter::call_like_tensor(std::string_view name, const Expr& expr) {
  const bool full = name == "full_like";
  const std::size_t least = full ? 2 : 1;
  const std::size_t count = expr.children.size() - 1;
  if (count < least || count > least + 1) {
    return unknown("`" + std::string(name) + "` with " + std::to_string(count) + " arguments", expr.token);
  }
  KW_TRY(const HostValue model, evaluate_set(*expr.children[1]));
  KW_TRY(const TensorValue* like, defined_tensor(model, expr.token));
  HostValue value = make_integer(types_.int_type(), name == "ones_like" ? 1 : 0);
  if (full) {
    KW_TRY(value, evaluate_set(*expr.children[2]));
  }
  TensorValue wanted = *like;
  if (count > least) {
    KW_TRY(const HostValue given, evaluate_set(*expr.children[count]));
    KW_TRY(const HostValue options, options_of(given, expr.token));
    const auto type = scalar_type_numbered(options.parts()[0].integer());
    if (!type) return unknown("this element type", expr.token);
    wanted.element = element_type(type->dtype, types_);
  }
  KW_TRY(HostValue tensor, tensor_like(wanted, expr.token));
  if (name != "empty_like") {
    KW_TRY_VOID(fill_tensor(*std::get<std::shared_ptr<const TensorValue>>(tensor.data), value, expr.token));
  }
  return tensor;
}

Result<HostValue> HostInterpreter::call_make_tuple(const Expr& expr) {
  HostValue::Aggregate parts;
  std::vector<const HostType*> fields;
  for (std::size_t i = 1; i < expr.children.size(); ++i) {
    KW_TRY(HostValue value, evaluate_set(*expr.children[i]));
    value.type = value.type->plain;
    fields.push_back(value.type);
    parts.push_back(std::move(value));
  }
  KW_TRY(const HostType* type, tuple_type(fields, expr.token));
  return HostValue{type, std::move(parts)};
}

}  // namespace kw
