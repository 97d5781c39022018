#pragma once
// Between the program's bytes and torch's tensors.

#include <vector>

#include "kernel/reference/reference.h"
#include "kernel/reference/torch/torch_headers.h"

namespace kw {

c10::ScalarType torch_type(Dtype dtype);

// Torch's tensors of a task's inputs, in the task's types.
class PreparedTensors : public PreparedInputs {
 public:
  enum class Bytes { copied, borrowed };  // borrowed: on the CPU the inputs themselves, which must outlive this

  // Throws torch's exceptions, such as c10::OutOfMemoryError. For the GPU gpu_name() must have been asked.
  PreparedTensors(const std::vector<InputTensor>& inputs, Device device, Bytes bytes);
  ~PreparedTensors() override;

  Device device() const override { return device_; }
  std::int64_t bytes() const override;

  // The values of the function's parameters: copies, which the text may change, in float64 for the truth; and sizes.
  Result<std::vector<c10::IValue>> arguments(const c10::FunctionSchema& schema, const Sizes& sizes,
                                             Precision precision) const;

 private:
  struct NamedTensor {
    std::string name;
    Dtype dtype;
    at::Tensor tensor;
  };
  Device device_;
  std::vector<NamedTensor> tensors_;
};

// Where it is, made contiguous, in the program's type for this precision.
OutputTensor output_tensor(const TensorSpec& spec, const at::Tensor& tensor, Precision precision);
// The positions must be inside the tensor: a wrong one on a GPU would end all use of it.
SampledOutput sampled_output(const TensorSpec& spec, const at::Tensor& tensor, Precision precision,
                             const std::vector<std::int64_t>& positions);

}  // namespace kw
