// A kernel as an operator of torch.library.

#include "kernel/export/python_file.h"

namespace kw {
namespace {

std::string_view schema_type(const TensorSpec& input) {
  if (!input.is_scalar()) return "Tensor";
  if (input.dtype == Dtype::boolean) return "bool";
  return is_floating_point(input.dtype) ? "float" : "int";
}

// "(Tensor x, float alpha, SymInt bins) -> (Tensor, Tensor)"
std::string schema_of(const Task& task) {
  std::string text = "(";
  for (const TensorSpec& input : task.inputs) {
    text += (text.size() > 1 ? ", " : "") + std::string(schema_type(input)) + " " + parameter_name(input.name);
  }
  for (const std::string& size : given_sizes(task))
    text += (text.size() > 1 ? ", " : "") + ("SymInt " + parameter_name(size));
  text += ") -> ";
  if (task.outputs.size() == 1) return text + "Tensor";
  text += "(";
  for (std::size_t i = 0; i < task.outputs.size(); ++i) text += i == 0 ? "Tensor" : ", Tensor";
  return text + ")";
}

}  // namespace

Result<std::string> export_torch(const ExportRequest& request) {
  for (const TensorSpec& output : request.task.outputs) {
    if (output.is_scalar()) return Error{"an output without a shape cannot be exported", "", {}};
  }
  KW_TRY(const std::string core, python_core(request));
  const std::string name = function_name(request.task);
  const std::string parameters = python_parameters(request.task);
  std::string text = python_heading(request, "PyTorch",
                                    "    from MODULE import " + name + "\n    y = " + name + "(" + parameters +
                                        ")\n\nIt is an operator of torch.library with a fake implementation, so "
                                        "torch.compile and torch.export take it.\n"
                                        "Inputs must be contiguous and on one GPU.");
  text +=
      "import base64\nimport ctypes\nimport glob\nimport math\nimport os\nimport shutil\nimport struct\nimport "
      "subprocess\nimport sys\nimport tempfile\nimport threading\n\nimport torch\n\n";
  text += core;
  text += "SCHEMA = \"" + schema_of(request.task) + "\"\n\n\n";
  text += python_part("torch_operator.py");
  text += python_part("torch_no_backward.py");
  text += "\n\ndef " + name + "(" + parameters + "):\n    return _operator(" + parameters + ")\n";
  return text;
}

}  // namespace kw
