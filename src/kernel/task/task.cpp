#include "kernel/task/task.h"

namespace kw {

Result<std::vector<std::int64_t>> TensorSpec::shape_at(const Sizes& sizes) const {
  std::vector<std::int64_t> extents;
  for (const Expression& entry : shape) {
    KW_TRY(const std::int64_t extent, entry.evaluate(sizes));
    if (extent < 1) {
      return Error{
          "'" + name + "' has the extent " + entry.text() + " = " + std::to_string(extent) + " at " + to_string(sizes),
          "every extent must be at least 1",
          {}};
    }
    extents.push_back(extent);
  }
  return extents;
}

Result<std::int64_t> TensorSpec::elements_at(const Sizes& sizes) const {
  KW_TRY(const std::vector<std::int64_t> extents, shape_at(sizes));
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) {
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > max_tensor_elements) {
      return Error{"'" + name + "' has more than 2^31 - 1 elements at " + to_string(sizes),
                   "index arithmetic in kernels is 32-bit; choose smaller sizes",
                   {}};
    }
  }
  return elements;
}

std::vector<Sizes> Task::all_sizes() const {
  std::vector<Sizes> all = sizes_small;
  all.insert(all.end(), sizes_train.begin(), sizes_train.end());
  all.insert(all.end(), sizes_holdout.begin(), sizes_holdout.end());
  return all;
}

std::vector<Parameter> Task::parameters() const {
  std::vector<Parameter> parameters;
  for (const TensorSpec& input : inputs) {
    const auto role = input.is_scalar() ? Parameter::Role::scalar : Parameter::Role::input;
    parameters.push_back({role, input.name, input.dtype});
  }
  for (const TensorSpec& output : outputs) parameters.push_back({Parameter::Role::output, output.name, output.dtype});
  for (const std::string& size : size_names) parameters.push_back({Parameter::Role::size, size, Dtype::int32});
  parameters.push_back({Parameter::Role::stream, "stream", Dtype::int32});
  return parameters;
}

std::string Task::launcher_declaration() const {
  std::string text = "extern \"C\" void launch(";
  bool first = true;
  for (const Parameter& parameter : parameters()) {
    if (!first) text += ", ";
    first = false;
    const std::string type(cuda_type_of(parameter.dtype));
    switch (parameter.role) {
      case Parameter::Role::input:
        text += "const " + type + "* ";
        break;
      case Parameter::Role::output:
        text += type + "* ";
        break;
      case Parameter::Role::scalar:
        text += type + " ";
        break;
      case Parameter::Role::size:
        text += "int ";
        break;
      case Parameter::Role::stream:
        text += "cudaStream_t ";
        break;
    }
    text += parameter.name;
  }
  return text + ")";
}

Result<void> Task::check_sizes(const Sizes& sizes) const {
  for (const auto& [size, value] : sizes) {
    bool known = false;
    for (const std::string& name_known : size_names) known = known || name_known == size;
    if (!known) {
      std::string names;
      for (const std::string& name_known : size_names) names += (names.empty() ? "" : ", ") + name_known;
      return Error{"the task '" + name + "' has no size '" + size + "'", "its sizes are " + names, {}};
    }
    if (value < 1 || value > max_tensor_elements) {
      return Error{"the size " + size + "=" + std::to_string(value) + " is not between 1 and 2^31 - 1", "", {}};
    }
  }
  for (const std::string& size : size_names) {
    if (!sizes.contains(size)) return Error{"the size '" + size + "' of the task '" + name + "' is missing", "", {}};
  }
  for (const auto* tensors : {&inputs, &outputs}) {
    for (const TensorSpec& tensor : *tensors) {
      const auto elements = tensor.elements_at(sizes);
      if (!elements.ok()) return elements.error();
    }
  }
  return {};
}

}  // namespace kw
