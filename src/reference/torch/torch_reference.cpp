#include <mutex>

#include "reference/torch/script_names.h"
#include "reference/torch/torch_headers.h"
#include "reference/torch_library.h"

namespace kw {
namespace {

c10::ScalarType torch_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return c10::kFloat;
    case Dtype::float16:
      return c10::kHalf;
    case Dtype::bfloat16:
      return c10::kBFloat16;
    case Dtype::float64:
      return c10::kDouble;
    case Dtype::int32:
      return c10::kInt;
    case Dtype::int64:
      return c10::kLong;
    case Dtype::int8:
      return c10::kChar;
    case Dtype::uint8:
      return c10::kByte;
  }
  KW_CHECK(false);
}

// Torch's messages carry stack traces and blank lines; the first lines say what is wrong.
std::string first_lines(const std::string& text, int count) {
  std::string kept;
  std::istringstream lines(text);
  for (std::string line; count > 0 && std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (line.rfind("Exception raised from", 0) == 0) break;
    kept += (kept.empty() ? "" : "\n  ") + line;
    --count;
  }
  return kept;
}

// People paste references with their imports; the names are known here anyway.
std::string without_imports(const std::string& text) {
  std::string kept;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool is_import = line.rfind("import ", 0) == 0 || line.rfind("from ", 0) == 0;
    kept += (is_import ? "" : line) + "\n";
  }
  return kept;
}

// New tensors that the text makes (torch.zeros, torch.arange) must be float64 in the truth too. The default dtype is
// global to the process, hence the lock.
class DefaultDtype {
 public:
  explicit DefaultDtype(c10::ScalarType type) : lock_(mutex()), before_(c10::get_default_dtype()) {
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(type));
  }
  ~DefaultDtype() { c10::set_default_dtype(before_); }
  DefaultDtype(const DefaultDtype&) = delete;
  DefaultDtype& operator=(const DefaultDtype&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  std::lock_guard<std::mutex> lock_;
  caffe2::TypeMeta before_;
};

class TorchReference : public Reference {
 public:
  TorchReference(Task task, std::shared_ptr<torch::jit::CompilationUnit> unit)
      : task_(std::move(task)), unit_(std::move(unit)) {}

  Result<std::vector<OutputTensor>> run(const std::vector<InputTensor>& inputs, const Sizes& sizes,
                                        Precision precision) override {
    try {
      const c10::InferenceMode no_gradients;
      KW_TRY(std::vector<c10::IValue> stack, arguments(inputs, sizes, precision));
      const bool narrow = precision == Precision::task_dtype;
      const DefaultDtype default_dtype(narrow ? c10::kFloat : c10::kDouble);
      const c10::IValue answer = unit_->get_function(c10::QualifiedName("reference"))(std::move(stack));
      return outputs(answer, sizes, precision);
    } catch (const std::exception& problem) {
      return Error{
          "the reference of '" + task_.name + "' failed at " + to_string(sizes) + ": " + first_lines(problem.what(), 6),
          "",
          {task_.file, 0, 0}};
    }
  }

  // Every parameter must be an input or a size.
  Result<void> check_parameters() const {
    const auto* function = unit_->find_function(c10::QualifiedName("reference"));
    if (!function) return Error{"the PyTorch text defines no function called reference", "", {task_.file, 0, 0}};
    for (const auto& parameter : function->getSchema().arguments()) {
      bool known = parameter.default_value().has_value();
      for (const TensorSpec& input : task_.inputs) known = known || input.name == parameter.name();
      for (const std::string& size : task_.size_names) known = known || size == parameter.name();
      if (!known) {
        return Error{"the reference's parameter '" + parameter.name() + "' is neither an input nor a size",
                     "",
                     {task_.file, 0, 0}};
      }
    }
    return {};
  }

 private:
  Result<std::vector<c10::IValue>> arguments(const std::vector<InputTensor>& inputs, const Sizes& sizes,
                                             Precision precision) const {
    std::vector<c10::IValue> stack;
    for (const auto& parameter : unit_->get_function(c10::QualifiedName("reference")).getSchema().arguments()) {
      const auto input = std::find_if(inputs.begin(), inputs.end(),
                                      [&](const InputTensor& tensor) { return tensor.name == parameter.name(); });
      if (input == inputs.end()) {
        const auto size = sizes.find(parameter.name());
        if (size != sizes.end()) {
          stack.emplace_back(size->second);
        } else if (parameter.default_value()) {
          stack.push_back(*parameter.default_value());
        } else {
          return Error{"no value for the reference's parameter '" + parameter.name() + "'", "", {}};
        }
        continue;
      }
      auto tensor = torch::from_blob(const_cast<char*>(input->bytes.data()), input->shape,
                                     torch::TensorOptions(torch_type(input->dtype)))
                        .clone();
      if (precision == Precision::truth && is_floating_point(input->dtype)) tensor = tensor.to(c10::kDouble);
      if (parameter.type()->kind() == c10::TypeKind::FloatType) {
        stack.emplace_back(tensor.to(c10::kDouble).item<double>());
      } else if (parameter.type()->kind() == c10::TypeKind::IntType) {
        stack.emplace_back(tensor.item<std::int64_t>());
      } else {
        stack.emplace_back(std::move(tensor));
      }
    }
    return stack;
  }

  Result<std::vector<OutputTensor>> outputs(const c10::IValue& answer, const Sizes& sizes, Precision precision) const {
    std::vector<c10::IValue> parts;
    if (answer.isTuple()) {
      parts = answer.toTupleRef().elements().vec();
    } else {
      parts.push_back(answer);
    }
    if (parts.size() != task_.outputs.size()) {
      return Error{"the reference of '" + task_.name + "' returns " + std::to_string(parts.size()) +
                       " values, but the task has " + std::to_string(task_.outputs.size()) + " outputs",
                   "",
                   {task_.file, 0, 0}};
    }
    std::vector<OutputTensor> made;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const TensorSpec& spec = task_.outputs[i];
      if (!parts[i].isTensor()) {
        return Error{"the reference's value for '" + spec.name + "' is no tensor", "", {task_.file, 0, 0}};
      }
      at::Tensor tensor = parts[i].toTensor();
      KW_TRY(const std::vector<std::int64_t> shape, spec.shape_at(sizes));
      // A full reduction gives a 0-dimensional tensor; an output of shape [1] is the same thing.
      if (tensor.dim() == 0 && shape == std::vector<std::int64_t>{1}) tensor = tensor.reshape({1});
      if (tensor.sizes() != at::IntArrayRef(shape)) {
        std::ostringstream text;
        text << "the reference's '" << spec.name << "' has the shape " << tensor.sizes() << " at " << to_string(sizes)
             << ", but the task says " << at::IntArrayRef(shape);
        return Error{text.str(), "", {task_.file, 0, 0}};
      }
      const bool wide = precision == Precision::truth && is_floating_point(spec.dtype);
      const Dtype dtype = wide ? Dtype::float64 : spec.dtype;
      tensor = tensor.to(torch_type(dtype)).contiguous();
      OutputTensor output{spec.name, dtype, shape, {}};
      output.bytes.assign(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
      made.push_back(std::move(output));
    }
    return made;
  }

  Task task_;
  std::shared_ptr<torch::jit::CompilationUnit> unit_;
};

class LoadedTorch : public TorchLibrary {
 public:
  std::string version() const override { return TORCH_VERSION; }

  Result<std::unique_ptr<Reference>> make_reference(const Task& task) const override {
    try {
      auto unit = std::make_shared<torch::jit::CompilationUnit>();
      unit->define(c10::nullopt, without_imports(task.pytorch), make_script_resolver(), nullptr);
      auto made = std::make_unique<TorchReference>(task, std::move(unit));
      KW_TRY_VOID(made->check_parameters());
      return std::unique_ptr<Reference>(std::move(made));
    } catch (const std::exception& problem) {
      return Error{"the PyTorch text of '" + task.name + "' does not compile: " + first_lines(problem.what(), 8),
                   "",
                   {task.file, 0, 0}};
    }
  }
};

}  // namespace
}  // namespace kw

extern "C" const kw::TorchLibrary* kernelwright_torch_library() {
  static const kw::LoadedTorch library;
  return &library;
}
