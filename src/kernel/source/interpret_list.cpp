// The small containers of extension files: lists of sizes or tensors, optionals, and how values of PyTorch's types are
// made. A list may move when it grows, so nothing keeps the place of its elements.

#include "kernel/source/host_interpreter.h"

namespace kw {
namespace {

constexpr std::size_t max_list_elements = 256;

}  // namespace

HostValue HostInterpreter::make_list(const std::vector<std::int64_t>& values) {
  const HostType* element = types_.basic(TypeKind::long_);
  HostValue::Aggregate parts;
  for (const std::int64_t value : values) parts.push_back(make_integer(element, value));
  return HostValue{types_.list_of(element), std::move(parts)};
}

bool HostInterpreter::is_torch_type(const HostType& type) const {
  return type.kind == TypeKind::tensor || type.kind == TypeKind::list || type.kind == TypeKind::optional ||
         type.plain == types_.torch_named("TensorOptions") || type.plain == types_.torch_named("CUDAGuard");
}

Result<HostValue> HostInterpreter::construct_torch(const HostType* type, const std::vector<const Expr*>& values,
                                                   bool braces, TokenIndex token) {
  if (type == types_.torch_named("CUDAGuard")) {  // whatever the device, there is one
    for (const Expr* value : values) {
      KW_TRY(const HostValue ignored, evaluate_set(*value));
      static_cast<void>(ignored);
    }
    return HostValue{type, HostValue::Aggregate{}};
  }
  if (values.size() == 1 && values[0]->kind != ExprKind::braces) {
    KW_TRY(const HostValue given, evaluate_set(*values[0]));
    if (given.type->plain == type) return HostValue{type, given.data};
    if (type->kind == TypeKind::list) {
      if (!braces && is_integer(*given.type)) {  // std::vector<T> v(n)
        if (given.integer() < 0 || given.integer() > static_cast<std::int64_t>(max_list_elements)) {
          return fail("a list has too many elements", token);
        }
        KW_TRY(HostValue zero, zero_value(type->element, token));
        return HostValue{type, HostValue::Aggregate(static_cast<std::size_t>(given.integer()), zero)};
      }
      KW_TRY_AT(HostValue element, convert(given, type->element, Conversion::implicit, types_), token);
      return HostValue{type, HostValue::Aggregate{std::move(element)}};
    }
    if (type == types_.torch_named("TensorOptions")) return options_of(given, token);
    KW_TRY_AT(HostValue result, convert(given, type, Conversion::implicit, types_), token);
    return result;
  }
  if (values.size() == 1 && type->kind == TypeKind::list)
    return construct_torch(type, values[0]->children, true, token);
  if (type->kind == TypeKind::list) {
    if (!braces && values.size() == 2) return unknown("a list made from a count and a value", token);
    if (values.size() > max_list_elements) return fail("a list has too many elements", token);
    HostValue::Aggregate parts;
    for (const Expr* value : values) {
      KW_TRY(HostValue part, initial_value(type->element, *value));
      part.type = type->element;
      parts.push_back(std::move(part));
    }
    return HostValue{type, std::move(parts)};
  }
  if (!values.empty()) return fail("too many values for " + type->name, token);
  if (type->kind == TypeKind::tensor) return HostValue{type, std::shared_ptr<const TensorValue>()};
  if (type->kind == TypeKind::optional) return HostValue{type, HostValue::Aggregate{}};
  return make_options(6, false);
}

Result<HostValue*> HostInterpreter::list_element(HostValue& list, const HostValue& index, TokenIndex token) {
  if (!index.is_integer_value()) return fail("an index must be a whole number", token);
  if (!list.is_aggregate()) return fail("a list is used after its scope has ended", token);
  HostValue::Aggregate& parts = list.parts();
  if (index.integer() < 0 || index.integer() >= static_cast<std::int64_t>(parts.size())) {
    return fail("element " + std::to_string(index.integer()) + " of a list of " + std::to_string(parts.size()), token);
  }
  return &parts[static_cast<std::size_t>(index.integer())];
}

bool HostInterpreter::is_list_element(const Expr& expr) {
  if (!program_.uses_torch || expr.kind != ExprKind::subscript || !is_variable(*expr.children[0])) return false;
  const HostType* type = static_type(*expr.children[0]);
  return type != nullptr && type->kind == TypeKind::list;
}

// What is stored into at once; the place is not to be kept.
Result<HostValue*> HostInterpreter::locate_to_store(const Expr& expr) {
  if (!is_list_element(expr)) return locate(expr);
  KW_TRY(const HostValue index, evaluate_set(*expr.children[1]));
  KW_TRY(HostValue * list, locate(*expr.children[0]));
  if (list->type->is_const) return fail("a constant is assigned to", expr.token);
  return list_element(*list, index, expr.token);
}

// a[i] in an extension file: of an array, a list, or the first dimension of a tensor.
Result<HostValue> HostInterpreter::evaluate_element(const Expr& expr) {
  HostValue owner;
  if (is_variable(*expr.children[0])) {
    KW_TRY(const HostValue* cell, locate(*expr.children[0]));
    const TypeKind kind = cell->type->kind;
    if (kind != TypeKind::list && kind != TypeKind::tensor) {
      KW_TRY(HostValue * element, locate(expr));
      return read(*element, expr);
    }
  }
  KW_TRY(owner, evaluate_set(*expr.children[0]));
  KW_TRY(const HostValue index, evaluate_set(*expr.children[1]));
  if (owner.type->kind == TypeKind::list) {
    KW_TRY(HostValue * element, list_element(owner, index, expr.token));
    return *element;
  }
  if (owner.type->kind == TypeKind::tensor) {
    KW_TRY(const TensorValue* tensor, defined_tensor(owner, expr.token));
    if (!is_integer(*index.type) || tensor->sizes.empty()) return computes("an index of a tensor", expr.token);
    const std::int64_t at = index.integer() < 0 ? index.integer() + tensor->sizes[0] : index.integer();
    if (at < 0 || at >= tensor->sizes[0]) return fail("an index outside of the tensor", expr.token);
    TensorValue row = *tensor;
    row.data.offset_bytes += at * tensor->strides[0] * static_cast<std::int64_t>(tensor->element->bytes);
    row.sizes.erase(row.sizes.begin());
    row.strides.erase(row.strides.begin());
    return make_tensor(std::move(row));
  }
  if (owner.is_device_pointer()) {
    KW_TRY(HostValue * cell, locate_target(owner, expr));
    return read(*cell, expr);
  }
  KW_TRY_AT(const HostValue pointer, apply_binary("+", owner, index, types_), expr.token);
  KW_TRY(HostValue * cell, locate_target(pointer, expr));
  return read(*cell, expr);
}

Result<HostValue> HostInterpreter::optional_value(const HostValue& value, TokenIndex token) {
  if (value.parts().empty()) return fail("the value of an empty optional", token);
  return value.parts()[0];
}

Result<HostValue> HostInterpreter::compare_lists(const HostValue& a, const HostValue& b, const Expr& expr) {
  if (expr.text != "==" && expr.text != "!=") return unknown("the operator " + std::string(expr.text), expr.token);
  bool same = a.parts().size() == b.parts().size();
  for (std::size_t i = 0; same && i < a.parts().size(); ++i) {
    KW_TRY_AT(const HostValue equal, apply_binary("==", a.parts()[i], b.parts()[i], types_), expr.token);
    same = equal.integer() != 0;
  }
  return make_integer(types_.bool_type(), same == (expr.text == "=="));
}

Result<HostValue> HostInterpreter::call_list(HostValue& self, const Expr& expr, const Expr& callee) {
  const std::string_view name = callee.text;
  const std::size_t count = expr.children.size() - 1;
  std::vector<HostValue> arguments;
  for (std::size_t i = 1; i <= count; ++i) {
    KW_TRY(HostValue value, evaluate_set(*expr.children[i]));
    arguments.push_back(std::move(value));
  }
  if (!self.is_aggregate()) return fail("a list is used before it has a value", callee.token);
  const auto size = static_cast<std::int64_t>(self.parts().size());
  if (count == 0) {
    if (name == "size") return make_integer(types_.size_type(), size);
    if (name == "empty") return make_integer(types_.bool_type(), size == 0);
    if (name == "vec") return HostValue{self.type->plain, self.data};
    if (name == "back" || name == "front") {
      if (size == 0) return fail("the elements of an empty list", callee.token);
      return name == "back" ? self.parts().back() : self.parts().front();
    }
  }
  if (name == "at" && count == 1) {
    KW_TRY(const HostValue* element, list_element(self, arguments[0], callee.token));
    return *element;
  }
  const bool changes = name == "push_back" || name == "emplace_back" || name == "pop_back" || name == "reserve";
  if (changes && self.type->is_const) return fail("a constant list is changed", callee.token);
  if ((name == "push_back" || name == "emplace_back") && count == 1) {
    if (self.parts().size() >= max_list_elements) return fail("a list has too many elements", callee.token);
    KW_TRY_AT(HostValue element, convert(arguments[0], self.type->element, Conversion::implicit, types_), callee.token);
    element.type = self.type->element;
    self.parts().push_back(std::move(element));
    return nothing();
  }
  if (name == "pop_back" && count == 0 && size > 0) {
    self.parts().pop_back();
    return nothing();
  }
  if (name == "reserve" && count == 1) return nothing();
  return unknown("`" + std::string(name.substr(0, 60)) + "` of a list", callee.token);
}

Result<HostValue> HostInterpreter::call_optional(const HostValue& self, const Expr& expr, const Expr& callee) {
  const std::string_view name = callee.text;
  const std::size_t count = expr.children.size() - 1;
  if (!self.is_aggregate()) return fail("an optional is used before it has a value", callee.token);
  if (name == "has_value" && count == 0) return make_integer(types_.bool_type(), !self.parts().empty());
  if (name == "value" && count == 0) return optional_value(self, callee.token);
  if (name == "value_or" && count == 1) {
    KW_TRY(const HostValue other, evaluate_set(*expr.children[1]));
    if (!self.parts().empty()) return self.parts()[0];
    KW_TRY_AT(HostValue converted, convert(other, self.type->element, Conversion::implicit, types_), callee.token);
    return converted;
  }
  return unknown("`" + std::string(name.substr(0, 60)) + "` of an optional", callee.token);
}

Result<std::optional<HostValue>> HostInterpreter::call_torch_method(HostValue& self, const Expr& expr,
                                                                    const Expr& callee) {
  using Maybe = std::optional<HostValue>;
  const auto some = [](Result<HostValue> result) -> Result<Maybe> {
    if (!result.ok()) return std::move(result).error();
    return Maybe(std::move(result).value());
  };
  const HostType* type = self.type->plain;
  const bool none = expr.children.size() == 1;
  if (type->kind == TypeKind::tensor) {
    if (!self.is_set()) return fail("a tensor is used after its scope has ended", callee.token);
    const HostValue copy = self;  // the call may assign to the variable
    return some(call_tensor(copy, expr, callee));
  }
  if (type->kind == TypeKind::list) return some(call_list(self, expr, callee));
  if (type->kind == TypeKind::optional) {
    const HostValue copy = self;
    return some(call_optional(copy, expr, callee));
  }
  if (!self.is_set()) return fail("a value is used before it is set", callee.token);
  if (type == types_.torch_named("TensorOptions")) return some(call_options(self, expr, callee));
  if (type->kind == TypeKind::stream && none && callee.text == "stream") return Maybe(HostValue{type, self.data});
  if (type == types_.torch_named("DeviceType") && none) {
    if (callee.text == "is_cuda") return Maybe(make_integer(types_.bool_type(), self.integer() == 1));
    if (callee.text == "is_cpu") return Maybe(make_integer(types_.bool_type(), self.integer() == 0));
    if (callee.text == "type") return Maybe(self);
    if (callee.text == "index") return Maybe(make_integer(types_.basic(TypeKind::schar), 0));
  }
  if (type == types_.torch_named("ScalarType") && none) {  // of x.type(), which is more than its element type
    if (callee.text == "is_cuda") return Maybe(make_integer(types_.bool_type(), 1));
    if (callee.text == "scalarType" || callee.text == "toScalarType") return Maybe(self);
  }
  return Maybe();
}

}  // namespace kw
