#include "kernel/reference/torch/gpu_backend.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/shared_library.h"
#include "kernel/reference/torch/torch_headers.h"
#include "kernel/reference/torch_message.h"

namespace kw {
namespace {

Error no_torch_gpu(const std::string& reason) { return Error{"torch cannot use the GPU: " + reason, "", {}}; }

Result<void> load_torch_cuda() {
  Dl_info cpu_library{};
  if (!::dladdr(reinterpret_cast<const void*>(&at::detail::getCUDAHooks), &cpu_library) || !cpu_library.dli_fname) {
    return no_torch_gpu("the place of libtorch_cpu.so is unknown");
  }
  const auto path = std::filesystem::path(cpu_library.dli_fname).parent_path() / "libtorch_cuda.so";
  if (!std::filesystem::exists(path)) {
    return no_torch_gpu("it is built without CUDA, " + path.string() + " does not exist");
  }
  // Never unloaded; its initialisers register the CUDA kernels of every operation.
  const auto library = SharedLibrary::open(path, SharedLibrary::Names::shared);
  if (!library.ok()) return no_torch_gpu(library.error().message);
  return {};
}

const Result<void>& torch_cuda() {
  static const Result<void> loaded = load_torch_cuda();
  return loaded;
}

Result<std::string> find_gpu() {
  const auto& driver = event_driver();
  if (!driver.ok()) return driver.error();
  if (!torch_cuda().ok()) return torch_cuda().error();
  try {
    const CurrentContext context(*driver);
    // Unlike hasCUDA(), it says why it fails.
    at::globalContext().lazyInitDevice(c10::kCUDA);
    if (!at::hasCUDA()) return no_torch_gpu("it sees none");
    // Compiled kernels for this GPU, or a driver that can compile them, are only found to be missing by a launch.
    const auto probe = at::ones({2}, at::TensorOptions(c10::kCUDA).dtype(c10::kDouble)).sum().item<double>();
    if (probe != 2) return no_torch_gpu("it computes 1 + 1 = " + std::to_string(probe));
  } catch (const std::exception& problem) {
    return no_torch_gpu(first_lines(problem.what(), 2));
  }
  return driver->device_name;
}

}  // namespace

void load_gpu_backend() {
  if (cuda_driver_is_installed()) static_cast<void>(torch_cuda());
}

Result<std::string> gpu_name() {
  static const Result<std::string> found = find_gpu();
  return found;
}

DeviceUse::DeviceUse(Device device) {
  if (device == Device::cpu) return;
  static std::recursive_mutex one_at_a_time;
  lock_ = std::unique_lock(one_at_a_time);
  context_.emplace(*event_driver());
}

DeviceUse::~DeviceUse() {
  if (!context_) return;
  try {
    c10::getDeviceAllocator(c10::kCUDA)->emptyCache();
  } catch (const std::exception&) {
    // After a fault on the device every later call fails too, and says so itself.
  }
}

}  // namespace kw
