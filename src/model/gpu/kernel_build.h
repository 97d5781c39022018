#pragma once
// The model's kernels (kernels/*.cu, embedded in the program), compiled by NVRTC for the GPU that is there.

#include <string>

#include "base/result.h"

namespace kw {

// All of them in one text.
const std::string& model_kernel_text();

// Machine code for "sm_90", from the cache on disk when this text was compiled by this compiler before.
Result<std::string> model_kernel_cubin(const std::string& architecture);
// The same as PTX, for the emulator.
Result<std::string> model_kernel_ptx();

}  // namespace kw
