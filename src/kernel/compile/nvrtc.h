#pragma once
// NVIDIA's run-time compiler, loaded when it is needed, so that one program serves machines with and without it.

#include <nvrtc.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

// Where the compiler and the CUDA headers are on this machine.
struct CudaToolkit {
  std::filesystem::path nvrtc;    // libnvrtc.so.13
  std::filesystem::path include;  // the folder of cuda_fp16.h; empty when there is none
};

// Looks at KERNELWRIGHT_CUDA, where the build found it, LD_LIBRARY_PATH and /usr/local/cuda, in this order; headers are
// the first ones, or those of the same release that are complete.
Result<CudaToolkit> find_cuda_toolkit();

class Nvrtc {
 public:
  // Loads the library and the built-ins beside it.
  static Result<Nvrtc> load(const std::filesystem::path& library);

  std::string version() const;  // "13.0"

  decltype(&nvrtcVersion) get_version;
  decltype(&nvrtcCreateProgram) create_program;
  decltype(&nvrtcDestroyProgram) destroy_program;
  decltype(&nvrtcAddNameExpression) add_name_expression;
  decltype(&nvrtcCompileProgram) compile_program;
  decltype(&nvrtcGetLoweredName) get_lowered_name;
  decltype(&nvrtcGetPTXSize) get_ptx_size;
  decltype(&nvrtcGetPTX) get_ptx;
  decltype(&nvrtcGetCUBINSize) get_cubin_size;
  decltype(&nvrtcGetCUBIN) get_cubin;
  decltype(&nvrtcGetProgramLogSize) get_log_size;
  decltype(&nvrtcGetProgramLog) get_log;
  decltype(&nvrtcGetErrorString) get_error_string;
};

}  // namespace kw
