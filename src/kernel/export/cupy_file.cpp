// A kernel as a function on CuPy arrays.

#include "kernel/export/python_file.h"

namespace kw {

Result<std::string> export_cupy(const ExportRequest& request) {
  for (const TensorSpec& output : request.task.outputs) {
    if (output.is_scalar()) return Error{"an output without a shape cannot be exported", "", {}};
  }
  KW_TRY(const std::string core, python_core(request));
  const std::string name = function_name(request.task);
  const std::string parameters = python_parameters(request.task);
  std::string text =
      python_heading(request, "CuPy",
                     "    from MODULE import " + name + "\n    y = " + name + "(" + parameters +
                         ")\n\nThe kernels are a cupy.RawModule. Inputs must be contiguous and on one GPU.");
  text +=
      "import base64\nimport ctypes\nimport glob\nimport math\nimport os\nimport shutil\nimport struct\nimport "
      "subprocess\nimport sys\nimport tempfile\nimport threading\n\nimport cupy\nimport numpy\n\n";
  text += core;
  std::string function(python_part("cupy_function.py"));
  if (request.compile_with_nvcc) {
    const std::size_t at = function.find("_devices[index] = _CupyDevice(");
    function.replace(at, std::string_view("_devices[index] = _CupyDevice(").size(),
                     "_devices[index] = CompiledDevice(");
  }
  text += function;
  text += "\n\ndef " + name + "(" + parameters + "):\n    return _run(" + parameters + ")\n";
  return text;
}

}  // namespace kw
