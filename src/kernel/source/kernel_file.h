#pragma once
// Reading a kernel file: which part the device compiler gets, which kernels there are, and the launcher. Host code is
// only read, never run.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel/source/preprocess.h"

namespace kw {

struct HostProgram;

struct KernelParameter {
  std::string name;
  std::string type;  // as written: "const T*"
};

struct KernelFunction {
  std::string name;                              // with namespaces: "ns::softmax"
  std::vector<std::string> template_parameters;  // "typename T", "int BLOCK"
  std::vector<KernelParameter> parameters;
  bool has_launch_bounds = false;
  bool extern_c = false;
  Position where;
};

struct KernelFile {
  std::string file;
  // The text with everything that is for the host alone replaced by spaces, so that the compiler's lines and columns
  // are the user's. constexpr functions without __device__ stay: NVRTC needs -default-device for them.
  std::string device_source;
  std::vector<KernelFunction> kernels;
  std::vector<IncludeLine> includes;
  Position launcher;
  std::shared_ptr<const HostProgram> program;  // for make_launch_plan
};

inline constexpr std::size_t max_kernel_file_bytes = std::size_t{1} << 20;

// Fails when the text is not text, its preprocessor lines are wrong, or it has no launcher or more than one.
Result<KernelFile> read_kernel_file(std::string_view text, std::string_view file);

}  // namespace kw
