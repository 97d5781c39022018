// Member functions of a tensor: what it is, where it lies, views of it. Copies are made where PyTorch would make them
// and a plain copy of memory is enough.

#include <algorithm>
#include <numeric>

#include "kernel/source/host_interpreter.h"

namespace kw {
namespace {

// Whether every place between the first and the last element belongs to exactly one element.
bool is_dense(const TensorValue& tensor) {
  std::vector<std::size_t> order(tensor.sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(tensor.strides[a], tensor.sizes[a]) < std::pair(tensor.strides[b], tensor.sizes[b]);
  });
  std::int64_t expected = 1;
  for (const std::size_t d : order) {
    if (tensor.sizes[d] == 1) continue;
    if (tensor.strides[d] != expected) return false;
    expected *= tensor.sizes[d];
  }
  return true;
}

}  // namespace

HostValue HostInterpreter::make_tensor(TensorValue tensor) {
  return HostValue{types_.basic(TypeKind::tensor), std::make_shared<const TensorValue>(std::move(tensor))};
}

Result<const TensorValue*> HostInterpreter::defined_tensor(const HostValue& value, TokenIndex token) {
  const auto* tensor = std::get_if<std::shared_ptr<const TensorValue>>(&value.data);
  if (tensor == nullptr) return fail("a value of type " + value.type->name + " is not a tensor", token);
  if (*tensor == nullptr) return fail("a tensor is used before it is defined", token);
  return tensor->get();
}

Result<HostValue> HostInterpreter::allocate_tensor(const HostType* element, std::vector<std::int64_t> sizes,
                                                   TokenIndex token) {
  const auto count = tensor_element_count(sizes);
  if (!count) return fail("a tensor's shape has a negative size or too many elements", token);
  TensorValue tensor;
  tensor.element = element;
  tensor.strides = contiguous_strides(sizes);
  tensor.sizes = std::move(sizes);
  const std::uint64_t bytes = static_cast<std::uint64_t>(*count) * element->bytes;
  if (bytes > 0) {
    KW_TRY(tensor.data, allocate_scratch(bytes, "tensor " + std::to_string(scratch_.size() + 1), true, token));
  }
  return make_tensor(std::move(tensor));
}

// empty_like: the same layout where that fills its memory.
Result<HostValue> HostInterpreter::tensor_like(const TensorValue& tensor, TokenIndex token) {
  if (!tensor.is_contiguous() && !is_dense(tensor)) {
    return unknown("a tensor like one that is not dense", token, "make a new tensor with torch::empty");
  }
  KW_TRY(HostValue made, allocate_tensor(tensor.element, tensor.sizes, token));
  if (tensor.is_contiguous()) return made;
  TensorValue same = *std::get<std::shared_ptr<const TensorValue>>(made.data);
  same.strides = tensor.strides;
  return make_tensor(std::move(same));
}

Result<void> HostInterpreter::fill_tensor(const TensorValue& tensor, const HostValue& value, TokenIndex token) {
  if (!is_arithmetic(*value.type)) return fail("a tensor is filled with " + value.type->name, token);
  if (!tensor.is_contiguous() && !is_dense(tensor)) return computes("filling a part of a tensor", token);
  KW_TRY_AT(const HostValue element, convert(value, tensor.element, Conversion::cast, types_), token);
  std::string bytes;
  std::vector<EmbeddedPointer> pointers;
  KW_CHECK(append_bytes(element, bytes, pointers));
  if (std::any_of(bytes.begin(), bytes.end(), [&](char byte) { return byte != bytes[0]; })) {
    return computes("filling a tensor with " + print(value), token);
  }
  const std::uint64_t size = static_cast<std::uint64_t>(tensor.elements()) * tensor.element->bytes;
  if (size == 0) return {};
  const HostValue pointer{types_.pointer_to(tensor.element), tensor.data};
  KW_TRY_VOID(check_range(pointer, size, true, token));
  return add_step(MemorySet{tensor.data, static_cast<std::uint8_t>(bytes[0]), size, program_.position_of(token)},
                  token);
}

Result<std::int64_t> HostInterpreter::integer_argument(const Expr& expr, std::size_t index) {
  if (index >= expr.children.size()) return fail("an argument is missing", expr.token);
  KW_TRY(const HostValue value, evaluate_set(*expr.children[index]));
  KW_TRY_AT(const HostValue number, convert(value, types_.basic(TypeKind::long_), Conversion::implicit, types_),
            expr.token);
  return number.integer();
}

// A dimension counts from the end where it is negative.
Result<std::int64_t> HostInterpreter::dimension_argument(const Expr& expr, std::size_t index, std::size_t dimensions) {
  KW_TRY(std::int64_t dimension, integer_argument(expr, index));
  const auto count = static_cast<std::int64_t>(dimensions);
  if (dimension < -count || dimension >= count) {
    return fail("dimension " + std::to_string(dimension) + " of a tensor with " + std::to_string(count), expr.token);
  }
  return dimension < 0 ? dimension + count : dimension;
}

// `{a, b}`, a list, or whole numbers one after the other.
Result<std::vector<std::int64_t>> HostInterpreter::sizes_argument(const Expr& expr, std::size_t first,
                                                                  TokenIndex token) {
  const Expr& given = *expr.children[first];
  HostValue value;
  if (given.kind == ExprKind::braces) {
    KW_TRY(value, construct(types_.list_of(types_.basic(TypeKind::long_)), given.children, true, token));
  } else {
    KW_TRY(value, evaluate_set(given));
  }
  std::vector<std::int64_t> sizes;
  if (is_integer(*value.type)) {
    sizes.push_back(value.integer());
    return sizes;
  }
  if (value.type->kind != TypeKind::list || !is_integer(*value.type->element)) {
    return fail("a shape must be a list of whole numbers", token);
  }
  for (const HostValue& part : value.parts()) {
    if (!part.is_integer_value()) return fail("a value is used before it is set", token);
    sizes.push_back(part.integer());
  }
  if (sizes.size() > max_tensor_dimensions) return fail("a tensor has too many dimensions", token);
  return sizes;
}

std::optional<HostValue> HostInterpreter::tensor_property(const TensorValue& tensor, std::string_view name) {
  const HostType* int64 = types_.basic(TypeKind::long_);
  const auto element_bytes = static_cast<std::int64_t>(tensor.element->bytes);
  const auto dtype = dtype_of_element(*tensor.element, types_);
  KW_CHECK(dtype.has_value());
  const int number = scalar_type_of(*dtype).number;
  if (name == "dim" || name == "ndimension") return make_integer(int64, static_cast<std::int64_t>(tensor.sizes.size()));
  if (name == "numel") return make_integer(int64, tensor.elements());
  if (name == "nbytes") return make_integer(types_.size_type(), tensor.elements() * element_bytes);
  if (name == "element_size" || name == "itemsize") return make_integer(int64, element_bytes);
  if (name == "storage_offset") return make_integer(int64, tensor.data.offset_bytes / element_bytes);
  if (name == "sizes") return make_list(tensor.sizes);
  if (name == "strides") return make_list(tensor.strides);
  if (name == "is_cuda" || name == "defined") return make_integer(types_.bool_type(), 1);
  if (name == "is_cpu" || name == "is_sparse" || name == "requires_grad" || name == "is_complex") {
    return make_integer(types_.bool_type(), 0);
  }
  if (name == "is_floating_point") return make_integer(types_.bool_type(), is_floating_point(*dtype));
  if (name == "device") return make_integer(types_.torch_named("DeviceType"), 1);
  if (name == "get_device") return make_integer(int64, 0);
  if (name == "scalar_type" || name == "dtype" || name == "type") {
    return make_integer(types_.torch_named("ScalarType"), number);
  }
  if (name == "options") return make_options(number, true);
  if (name == "is_contiguous") return make_integer(types_.bool_type(), tensor.is_contiguous());
  return std::nullopt;
}

Result<HostValue> HostInterpreter::tensor_pointer(const TensorValue& tensor, const Expr& callee) {
  const HostType* element = types_.basic(TypeKind::void_);
  bool constant = callee.text == "const_data_ptr";
  if (!callee.name.parts.empty()) {
    const std::vector<TemplateArgument>& arguments = callee.name.parts[0].arguments;
    if (arguments.size() != 1 || arguments[0].type == nullptr) return fail("data_ptr needs one type", callee.token);
    KW_TRY(element, resolve(*arguments[0].type));
    constant = constant || element->is_const;
    if (element->plain != tensor.element) {
      return fail("data_ptr<" + element->name + "> of a tensor of " + tensor.element->name + " throws", callee.token,
                  "use the tensor's own type");
    }
  }
  if (constant) element = types_.with_const(element->plain);
  return HostValue{types_.pointer_to(element), tensor.data};
}

// Other sizes for the same elements in the same order.
Result<std::optional<HostValue>> HostInterpreter::call_tensor_reshape(const TensorValue& tensor, std::string_view name,
                                                                      const Expr& expr) {
  using Maybe = std::optional<HostValue>;
  TensorValue view = tensor;
  const std::size_t count = expr.children.size() - 1, dims = tensor.sizes.size();
  const auto reshaped = [&](std::vector<std::int64_t> sizes) -> Result<Maybe> {
    const auto whole = inferred_sizes(std::move(sizes), tensor.elements());
    if (!whole) return fail("`" + std::string(name) + "` gets a shape with another number of elements", expr.token);
    const auto strides = view_strides(tensor, *whole);
    if (!strides) return computes("`" + std::string(name) + "` of a tensor that would have to be copied", expr.token);
    view.sizes = *whole;
    view.strides = *strides;
    return Maybe(make_tensor(std::move(view)));
  };
  if ((name == "view" || name == "reshape") && count == 1) {
    KW_TRY(std::vector<std::int64_t> sizes, sizes_argument(expr, 1, expr.token));
    return reshaped(std::move(sizes));
  }
  if ((name == "view_as" || name == "reshape_as") && count == 1) {
    KW_TRY(const HostValue other, evaluate_set(*expr.children[1]));
    KW_TRY(const TensorValue* model, defined_tensor(other, expr.token));
    return reshaped(model->sizes);
  }
  if (name == "flatten" && count <= 2) {
    std::int64_t first = 0, last = dims == 0 ? 0 : static_cast<std::int64_t>(dims) - 1;
    if (dims == 0) return reshaped({1});
    if (count > 0) {
      KW_TRY(first, dimension_argument(expr, 1, dims));
    }
    if (count > 1) {
      KW_TRY(last, dimension_argument(expr, 2, dims));
    }
    if (first > last) return fail("`flatten` from a dimension behind its end", expr.token);
    std::vector<std::int64_t> sizes(tensor.sizes.begin(), tensor.sizes.begin() + first);
    std::int64_t product = 1;
    for (std::int64_t d = first; d <= last; ++d) product *= tensor.sizes[static_cast<std::size_t>(d)];
    sizes.push_back(product);
    sizes.insert(sizes.end(), tensor.sizes.begin() + last + 1, tensor.sizes.end());
    return reshaped(std::move(sizes));
  }
  return Maybe();
}

Result<std::optional<HostValue>> HostInterpreter::call_tensor_view(const TensorValue& tensor, std::string_view name,
                                                                   const Expr& expr) {
  using Maybe = std::optional<HostValue>;
  TensorValue view = tensor;
  const std::size_t count = expr.children.size() - 1, dims = tensor.sizes.size();
  if (name == "unsqueeze" && count == 1) {
    if (dims + 1 > max_tensor_dimensions) return fail("a tensor has too many dimensions", expr.token);
    KW_TRY(const std::int64_t at, dimension_argument(expr, 1, dims + 1));
    const auto place = static_cast<std::size_t>(at);
    const std::int64_t stride = place < dims ? tensor.sizes[place] * tensor.strides[place] : 1;
    view.sizes.insert(view.sizes.begin() + at, 1);
    view.strides.insert(view.strides.begin() + at, stride);
    return Maybe(make_tensor(std::move(view)));
  }
  if (name == "squeeze" && count <= 1) {
    std::int64_t only = -1;
    if (count == 1) {
      KW_TRY(only, dimension_argument(expr, 1, dims));
    }
    for (std::size_t d = dims; d-- > 0;) {
      if (view.sizes[d] != 1 || (only >= 0 && only != static_cast<std::int64_t>(d))) continue;
      view.sizes.erase(view.sizes.begin() + static_cast<std::ptrdiff_t>(d));
      view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(d));
    }
    return Maybe(make_tensor(std::move(view)));
  }
  if ((name == "transpose" && count == 2) || (name == "t" && count == 0 && dims <= 2)) {
    std::int64_t a = 0, b = static_cast<std::int64_t>(dims) - 1;
    if (count == 2) {
      KW_TRY(a, dimension_argument(expr, 1, dims));
      KW_TRY(b, dimension_argument(expr, 2, dims));
    }
    if (dims > 1) {
      std::swap(view.sizes[static_cast<std::size_t>(a)], view.sizes[static_cast<std::size_t>(b)]);
      std::swap(view.strides[static_cast<std::size_t>(a)], view.strides[static_cast<std::size_t>(b)]);
    }
    return Maybe(make_tensor(std::move(view)));
  }
  return call_tensor_part(tensor, name, expr);
}

// Dimensions in another order, and parts of a tensor.
Result<std::optional<HostValue>> HostInterpreter::call_tensor_part(const TensorValue& tensor, std::string_view name,
                                                                   const Expr& expr) {
  using Maybe = std::optional<HostValue>;
  TensorValue view = tensor;
  const std::size_t count = expr.children.size() - 1, dims = tensor.sizes.size();
  if (name == "permute" && count == 1) {
    KW_TRY(const std::vector<std::int64_t> order, sizes_argument(expr, 1, expr.token));
    std::vector<bool> used(dims);
    if (order.size() != dims) return fail("`permute` needs every dimension once", expr.token);
    for (std::size_t i = 0; i < dims; ++i) {
      const std::int64_t from = order[i] < 0 ? order[i] + static_cast<std::int64_t>(dims) : order[i];
      const bool good = from >= 0 && from < static_cast<std::int64_t>(dims) && !used[static_cast<std::size_t>(from)];
      if (!good) return fail("`permute` needs every dimension once", expr.token);
      used[static_cast<std::size_t>(from)] = true;
      view.sizes[i] = tensor.sizes[static_cast<std::size_t>(from)];
      view.strides[i] = tensor.strides[static_cast<std::size_t>(from)];
    }
    return Maybe(make_tensor(std::move(view)));
  }
  if (name == "select" && count == 2) {
    KW_TRY(const std::int64_t dimension, dimension_argument(expr, 1, dims));
    const auto d = static_cast<std::size_t>(dimension);
    KW_TRY(std::int64_t index, integer_argument(expr, 2));
    if (index < 0) index += tensor.sizes[d];
    if (index < 0 || index >= tensor.sizes[d]) return fail("`select` outside of the tensor", expr.token);
    view.data.offset_bytes += index * tensor.strides[d] * static_cast<std::int64_t>(tensor.element->bytes);
    view.sizes.erase(view.sizes.begin() + dimension);
    view.strides.erase(view.strides.begin() + dimension);
    return Maybe(make_tensor(std::move(view)));
  }
  if (name == "narrow" && count == 3) {
    KW_TRY(const std::int64_t dimension, dimension_argument(expr, 1, dims));
    const auto d = static_cast<std::size_t>(dimension);
    KW_TRY(std::int64_t start, integer_argument(expr, 2));
    KW_TRY(const std::int64_t length, integer_argument(expr, 3));
    if (start < 0) start += tensor.sizes[d];
    if (start < 0 || length < 0 || start > tensor.sizes[d] || length > tensor.sizes[d] - start) {
      return fail("`narrow` outside of the tensor", expr.token);
    }
    if (length > 0) {
      view.data.offset_bytes += start * tensor.strides[d] * static_cast<std::int64_t>(tensor.element->bytes);
    }
    view.sizes[d] = length;
    return Maybe(make_tensor(std::move(view)));
  }
  return Maybe();
}

// Copies of contiguous memory, and conversions that change nothing.
Result<std::optional<HostValue>> HostInterpreter::call_tensor_copy(const HostValue& self, std::string_view name,
                                                                   const Expr& expr) {
  using Maybe = std::optional<HostValue>;
  KW_TRY(const TensorValue* tensor, defined_tensor(self, expr.token));
  const std::size_t count = expr.children.size() - 1;
  if (name == "contiguous" && count == 0) {
    if (!tensor->is_contiguous()) return computes("`contiguous` of a tensor that would have to be copied", expr.token);
    return Maybe(self);
  }
  if ((name == "cuda" || name == "detach" || name == "data" || name == "expect_contiguous") && count == 0) {
    return Maybe(self);
  }
  if (name == "to" && count == 1) {
    KW_TRY(const HostValue wanted, evaluate_set(*expr.children[1]));
    KW_TRY(const HostValue options, options_of(wanted, expr.token));
    const auto type = scalar_type_numbered(options.parts()[0].integer());
    const bool device = wanted.type->plain == types_.torch_named("DeviceType");
    if (device && wanted.integer() == 1) return Maybe(self);
    const bool same = !device && type && element_type(type->dtype, types_) == tensor->element;
    if (!same) return computes("`to`", expr.token);
    return Maybe(self);
  }
  const bool clone = name == "clone" && count == 0;
  const bool copy = name == "copy_" && count == 1;
  if (!clone && !copy) return Maybe();
  const TensorValue* from = tensor;
  HostValue source = self, target = self;
  if (copy) {
    KW_TRY(source, evaluate_set(*expr.children[1]));
    KW_TRY(from, defined_tensor(source, expr.token));
    if (!from->is_contiguous() || !tensor->is_contiguous() || from->sizes != tensor->sizes ||
        from->element != tensor->element) {
      return computes("`copy_` between tensors of other shapes, types or orders", expr.token);
    }
  } else {
    if (!from->is_contiguous()) return computes("`clone` of a tensor that is not contiguous", expr.token);
    KW_TRY(target, tensor_like(*from, expr.token));
  }
  const TensorValue* to = std::get<std::shared_ptr<const TensorValue>>(target.data).get();
  const std::uint64_t bytes = static_cast<std::uint64_t>(from->elements()) * from->element->bytes;
  if (bytes > 0) {
    const HostType* pointer = types_.pointer_to(from->element);
    KW_TRY_VOID(check_range(HostValue{pointer, to->data}, bytes, true, expr.token));
    KW_TRY_VOID(check_range(HostValue{pointer, from->data}, bytes, false, expr.token));
    KW_TRY_VOID(add_step(MemoryCopy{to->data, from->data, bytes, program_.position_of(expr.token)}, expr.token));
  }
  return Maybe(target);
}

Result<HostValue> HostInterpreter::call_tensor(const HostValue& self, const Expr& expr, const Expr& callee) {
  const std::string_view name = callee.text;
  if (name == "defined" && expr.children.size() == 1) {
    const auto& tensor = std::get<std::shared_ptr<const TensorValue>>(self.data);
    return make_integer(types_.bool_type(), tensor != nullptr);
  }
  KW_TRY(const TensorValue* tensor, defined_tensor(self, callee.token));
  const std::size_t count = expr.children.size() - 1;
  if (count == 0) {
    if (name == "data_ptr" || name == "const_data_ptr" || name == "mutable_data_ptr" ||
        (name == "data" && !callee.name.parts.empty())) {
      return tensor_pointer(*tensor, callee);
    }
    if (const auto property = tensor_property(*tensor, name)) return *property;
  }
  if ((name == "size" || name == "stride") && count == 1) {
    KW_TRY(const std::int64_t d, dimension_argument(expr, 1, tensor->sizes.size()));
    const auto& list = name == "size" ? tensor->sizes : tensor->strides;
    return make_integer(types_.basic(TypeKind::long_), list[static_cast<std::size_t>(d)]);
  }
  if (name == "zero_" && count == 0) {
    KW_TRY_VOID(fill_tensor(*tensor, make_integer(types_.int_type(), 0), expr.token));
    return self;
  }
  if (name == "fill_" && count == 1) {
    KW_TRY(const HostValue value, evaluate_set(*expr.children[1]));
    KW_TRY_VOID(fill_tensor(*tensor, value, expr.token));
    return self;
  }
  if (name == "new_empty" || name == "new_zeros") {
    if (count != 1) return unknown("`" + std::string(name) + "` with options", expr.token);
    KW_TRY(std::vector<std::int64_t> sizes, sizes_argument(expr, 1, expr.token));
    KW_TRY(HostValue made, allocate_tensor(tensor->element, std::move(sizes), expr.token));
    const auto& fresh = std::get<std::shared_ptr<const TensorValue>>(made.data);
    if (name == "new_zeros") KW_TRY_VOID(fill_tensor(*fresh, make_integer(types_.int_type(), 0), expr.token));
    return made;
  }
  if (name == "is_same_size" && count == 1) {
    KW_TRY(const HostValue other, evaluate_set(*expr.children[1]));
    KW_TRY(const TensorValue* second, defined_tensor(other, expr.token));
    return make_integer(types_.bool_type(), tensor->sizes == second->sizes);
  }
  KW_TRY(auto reshaped, call_tensor_reshape(*tensor, name, expr));
  if (reshaped) return *reshaped;
  KW_TRY(auto view, call_tensor_view(*tensor, name, expr));
  if (view) return *view;
  KW_TRY(auto copy, call_tensor_copy(self, name, expr));
  if (copy) return *copy;
  return computes("the tensor's `" + std::string(name.substr(0, 60)) + "`", callee.token);
}

}  // namespace kw
