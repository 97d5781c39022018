#include "kernel/reference/cuda_driver.h"
#include "kernel/reference/gpu_timing.h"
#include "kernel/reference/positions.h"
#include "kernel/reference/torch/elementwise.h"
#include "kernel/reference/torch/gpu_backend.h"
#include "kernel/reference/torch/operators.h"
#include "kernel/reference/torch/script_names.h"
#include "kernel/reference/torch/torch_headers.h"
#include "kernel/reference/torch/torch_settings.h"
#include "kernel/reference/torch/torch_tensors.h"
#include "kernel/reference/torch/warm_up.h"
#include "kernel/reference/torch_library.h"
#include "kernel/reference/torch_message.h"

namespace kw {
namespace {

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

c10::ScalarType default_dtype(Precision precision) {
  return precision == Precision::truth ? c10::kDouble : c10::kFloat;
}

// Handles are made by this library alone.
const PreparedTensors& tensors_of(const PreparedInputs& inputs) { return static_cast<const PreparedTensors&>(inputs); }

class TorchReference : public Reference {
 public:
  TorchReference(Task task, std::shared_ptr<torch::jit::CompilationUnit> unit)
      : task_(std::move(task)), unit_(std::move(unit)) {}

  Result<std::vector<OutputTensor>> run(const std::vector<InputTensor>& inputs, const Sizes& sizes, Precision precision,
                                        Device device) override {
    return on_device(device, &sizes, [&]() -> Result<std::vector<OutputTensor>> {
      return whole_outputs(PreparedTensors(inputs, device, PreparedTensors::Bytes::borrowed), sizes, precision);
    });
  }

  Result<std::unique_ptr<PreparedInputs>> prepare(const std::vector<InputTensor>& inputs, Device device) override {
    return on_device(device, nullptr, [&]() -> Result<std::unique_ptr<PreparedInputs>> {
      return std::unique_ptr<PreparedInputs>(
          std::make_unique<PreparedTensors>(inputs, device, PreparedTensors::Bytes::copied));
    });
  }

  Result<std::vector<OutputTensor>> run(const PreparedInputs& inputs, const Sizes& sizes,
                                        Precision precision) override {
    return on_device(inputs.device(), &sizes, [&] { return whole_outputs(tensors_of(inputs), sizes, precision); });
  }

  Result<std::vector<SampledOutput>> run_at(const PreparedInputs& inputs, const Sizes& sizes, Precision precision,
                                            const Positions& positions) override {
    KW_TRY_VOID(check_positions(task_, positions, sizes));
    return on_device(inputs.device(), &sizes, [&]() -> Result<std::vector<SampledOutput>> {
      KW_TRY(const std::vector<at::Tensor> tensors, answer(tensors_of(inputs), sizes, precision));
      std::vector<SampledOutput> made;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        made.push_back(sampled_output(task_.outputs[i], tensors[i], precision, positions[i]));
      }
      return made;
    });
  }

  Result<ReferenceTimes> time_us(const PreparedInputs& inputs, const Sizes& sizes,
                                 const TimingOptions& options) override {
    if (inputs.device() != Device::gpu) {
      return Error{
          "PyTorch's time is measured on a GPU, and these inputs are on the CPU", "prepare them for Device::gpu", {}};
    }
    return on_device(inputs.device(), &sizes, [&]() -> Result<ReferenceTimes> {
      KW_TRY(const auto stack, tensors_of(inputs).arguments(function().getSchema(), sizes, Precision::task_dtype));
      const TorchSettings settings(default_dtype(Precision::task_dtype),
                                   options.allow_tf32 ? Arithmetic::eager_with_tf32 : Arithmetic::eager);
      KW_TRY_VOID(checked_outputs(function()(stack), sizes));
      return time_on_gpu(*event_driver(), [&] { function()(stack); }, options);
    });
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
  torch::jit::Function& function() const { return unit_->get_function(c10::QualifiedName("reference")); }

  // Whatever fails there, above all for want of memory, becomes an error that says so. Tensors of `step` are gone
  // before the device's memory is given back.
  template <class Step>
  std::invoke_result_t<Step> on_device(Device device, const Sizes* sizes, Step step) const {
    if (device == Device::gpu) {
      const auto name = gpu_name();
      if (!name.ok()) return name.error();
    }
    const auto failed = [&](const std::exception& problem, const std::string& advice) {
      return Error{"the reference of '" + task_.name + "' failed" + (sizes ? " at " + to_string(*sizes) : "") +
                       (device == Device::gpu ? " on the GPU" : "") + ": " + first_lines(problem.what(), 6),
                   advice,
                   {task_.file, 0, 0}};
    };
    try {
      const DeviceUse use(device);
      const c10::InferenceMode no_gradients;
      return step();
    } catch (const std::exception& problem) {
      // By the text: TorchScript's interpreter throws what it caught again as an exception of another type.
      const std::string_view text = problem.what();
      const auto says = [&](std::string_view words) { return text.find(words) != std::string_view::npos; };
      if (says("out of memory"))
        return failed(problem,
                      "use smaller sizes, free memory of the GPU (nvidia-smi shows who holds it), or use the CPU");
      return failed(problem,
                    says("same device") ? "give new tensors an input's device: torch.zeros(n, device=x.device)" : "");
    }
  }

  Result<std::vector<OutputTensor>> whole_outputs(const PreparedTensors& inputs, const Sizes& sizes,
                                                  Precision precision) const {
    KW_TRY(const std::vector<at::Tensor> tensors, answer(inputs, sizes, precision));
    std::vector<OutputTensor> made;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      made.push_back(output_tensor(task_.outputs[i], tensors[i], precision));
    }
    return made;
  }

  // The values of the outputs, where they were computed.
  Result<std::vector<at::Tensor>> answer(const PreparedTensors& inputs, const Sizes& sizes, Precision precision) const {
    KW_TRY(std::vector<c10::IValue> stack, inputs.arguments(function().getSchema(), sizes, precision));
    const TorchSettings settings(default_dtype(precision), Arithmetic::careful);
    return checked_outputs(function()(std::move(stack)), sizes);
  }

  Result<std::vector<at::Tensor>> checked_outputs(const c10::IValue& answer, const Sizes& sizes) const {
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
    std::vector<at::Tensor> tensors;
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
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

  Task task_;
  std::shared_ptr<torch::jit::CompilationUnit> unit_;
};

class LoadedTorch : public TorchLibrary {
 public:
  LoadedTorch() {
    load_gpu_backend();
    // No variable of torch's own says so (instruction_set.h).
    const char* onednn = std::getenv("KERNELWRIGHT_ONEDNN");
    if (onednn != nullptr && std::string_view(onednn) == "0") at::globalContext().setUserEnabledMkldnn(false);
  }

  std::string version() const override { return TORCH_VERSION; }
  Result<std::string> gpu_name() const override { return kw::gpu_name(); }
  Result<void> warm_up() const override { return compute_every_product(); }

  Result<std::unique_ptr<Reference>> make_reference(const Task& task, bool elementwise) const override {
    try {
      auto unit = std::make_shared<torch::jit::CompilationUnit>();
      unit->define(c10::nullopt, without_imports(task.pytorch), make_script_resolver(), nullptr);
      if (const auto allowed = check_operators(*unit); !allowed.ok())
        return Error{"the PyTorch text of '" + task.name + "' cannot be a reference: " + allowed.error().message,
                     "",
                     {task.file, 0, 0}};
      if (elementwise) KW_TRY_VOID(check_elementwise(*unit));
      // The plain interpreter, one operation after the other: the profiling one would fuse operations on a GPU.
      for (torch::jit::Function* function : unit->get_functions()) {
        torch::jit::toGraphFunction(*function)._set_initial_executor_execution_mode(torch::jit::SIMPLE);
      }
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
