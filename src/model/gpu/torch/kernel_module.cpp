#include "model/gpu/torch/kernel_module.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "model/gpu/torch/torch_headers.h"

namespace kw {
namespace {

constexpr std::int64_t shared_bytes_by_default = 48 << 10;
constexpr int shared_bytes_at_most = 200 << 10;

void require(const Driver& driver, CUresult result, const std::string& tried) {
  if (result != CUDA_SUCCESS) throw std::runtime_error(tried + " failed: " + driver.describe(result));
}

// Kernels that begin with after_previous() (0_common.cu): one may start while the one ahead of it ends, which hides
// launches and the way of the first weights. KERNELWRIGHT_EARLY_LAUNCH=1 turns it on.
bool may_start_early(std::string_view kernel) {
  static const bool wanted = [] {
    const char* given = std::getenv("KERNELWRIGHT_EARLY_LAUNCH");
    return given != nullptr && std::string_view(given) == "1";
  }();
  constexpr std::string_view ready[] = {"embed_bf16",        "embed_f32",   "rms_norm_bf16", "rms_norm_f32",
                                        "rotate_into_cache", "swiglu_bf16", "swiglu_f32",    "paged_attention",
                                        "join_attention",    "single_row",  "low_rank_rows", "sample_",
                                        "nf4_rows"};
  return wanted && std::ranges::any_of(ready, [&](std::string_view name) { return kernel.starts_with(name); });
}

const Driver& usable_driver() {
  const auto& driver = cuda_driver();
  if (!driver.ok()) throw std::runtime_error(to_string(driver.error()));
  return *driver;
}

}  // namespace

KernelModule::KernelModule(const std::string& cubin) : driver_(usable_driver()) {
  at::globalContext().lazyInitDevice(c10::kCUDA);
  c10::cuda::getCurrentCUDAStream().synchronize();  // torch's context is current from here on
  require(driver_, driver_.cuModuleLoadData(&module_, cubin.data()), "loading the model's kernels");
}

void KernelModule::launch(std::string_view kernel, const LaunchShape& shape,
                          std::initializer_list<KernelArgument> arguments) const {
  constexpr std::size_t most_arguments = 24;
  void* addresses[most_arguments];
  std::size_t count = 0;
  for (const KernelArgument& argument : arguments) {
    if (count == most_arguments) throw std::runtime_error("a kernel has too many parameters");
    addresses[count++] = const_cast<std::uint64_t*>(&argument.bits);
  }

  auto found = functions_.find(kernel);
  if (found == functions_.end()) {
    const std::string name(kernel);
    CUfunction function = nullptr;
    require(driver_, driver_.cuModuleGetFunction(&function, module_, name.c_str()), "finding the kernel " + name);
    found = functions_.emplace(name, function).first;
  }
  if (shape.shared_bytes > shared_bytes_by_default) {
    require(driver_,
            driver_.cuFuncSetAttribute(found->second, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       shared_bytes_at_most),
            "asking for shared memory");
  }
  if (may_start_early(kernel)) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config{};
    config.gridDimX = static_cast<unsigned>(shape.grid[0]);
    config.gridDimY = static_cast<unsigned>(shape.grid[1]);
    config.gridDimZ = static_cast<unsigned>(shape.grid[2]);
    config.blockDimX = static_cast<unsigned>(shape.threads);
    config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = static_cast<unsigned>(shape.shared_bytes);
    config.hStream = c10::cuda::getCurrentCUDAStream().stream();
    config.attrs = &attribute;
    config.numAttrs = 1;
    if (driver_.cuLaunchKernelEx == nullptr)
      throw std::runtime_error("the driver has no cuLaunchKernelEx: unset KERNELWRIGHT_EARLY_LAUNCH");
    require(driver_, driver_.cuLaunchKernelEx(&config, found->second, addresses, nullptr), "launching " + found->first);
    return;
  }
  require(driver_,
          driver_.cuLaunchKernel(found->second, static_cast<unsigned>(shape.grid[0]),
                                 static_cast<unsigned>(shape.grid[1]), static_cast<unsigned>(shape.grid[2]),
                                 static_cast<unsigned>(shape.threads), 1, 1, static_cast<unsigned>(shape.shared_bytes),
                                 c10::cuda::getCurrentCUDAStream().stream(), addresses, nullptr),
          "launching " + found->first);
}

}  // namespace kw
