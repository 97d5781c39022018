#pragma once
// The right answer: the task's PyTorch text, compiled as TorchScript and run on the CPU. The header knows nothing of
// torch; libtorch lives in a library of its own (libkernelwright_torch.so) that is loaded when a reference is first
// needed, so that commands which do not need it start in milliseconds.

#include <memory>
#include <string>
#include <vector>

#include "task/input_values.h"
#include "task/task.h"

namespace kw {

enum class Precision {
  truth,      // floating-point inputs and intermediates in float64
  task_dtype  // everything as the task declares it: what PyTorch itself would answer
};

struct OutputTensor {
  std::string name;
  Dtype dtype = Dtype::float32;  // float64 for floating-point outputs of the truth, else as declared
  std::vector<std::int64_t> shape;
  std::string bytes;  // row-major, little endian
};

class Reference {
 public:
  virtual ~Reference() = default;
  // Checks number, shapes and kinds of what the text returns against the task's outputs.
  virtual Result<std::vector<OutputTensor>> run(const std::vector<InputTensor>& inputs, const Sizes& sizes,
                                                Precision precision) = 0;
};

// Loads libtorch on first use; an error if it is missing on this machine or the text does not compile.
Result<std::unique_ptr<Reference>> make_reference(const Task& task);

// "2.11.0", or why libtorch cannot be loaded.
Result<std::string> torch_version();

}  // namespace kw
