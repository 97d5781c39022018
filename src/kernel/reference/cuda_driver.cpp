#include "kernel/reference/cuda_driver.h"

#include <stdexcept>

#include "base/shared_library.h"

namespace kw {
namespace {

// The one that torch loads, whatever KERNELWRIGHT_LIBCUDA names.
const Result<SharedLibrary>& driver_library() {
  static const Result<SharedLibrary> library = SharedLibrary::open("libcuda.so.1");
  return library;
}

Error no_gpu(const std::string& reason) { return Error{"there is no usable GPU: " + reason, "", {}}; }

Result<CudaDriver> open_driver() {
  if (!driver_library().ok()) return no_gpu("no NVIDIA driver is installed (libcuda.so.1 cannot be loaded)");
  CudaDriver driver;
  decltype(&::cuInit) initialise = nullptr;
  decltype(&::cuDeviceGetCount) get_count = nullptr;
  decltype(&::cuDeviceGet) get_device = nullptr;
  decltype(&::cuDeviceGetName) get_name = nullptr;
  decltype(&::cuDeviceGetAttribute) get_attribute = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) retain = nullptr;
  const auto find = [](auto& function, const char* name) { return driver_library()->find(function, name); };
  const bool complete =
      find(initialise, "cuInit") && find(get_count, "cuDeviceGetCount") && find(get_device, "cuDeviceGet") &&
      find(get_name, "cuDeviceGetName") && find(get_attribute, "cuDeviceGetAttribute") &&
      find(retain, "cuDevicePrimaryCtxRetain") && find(driver.get_error_string, "cuGetErrorString") &&
      find(driver.context_push, "cuCtxPushCurrent_v2") && find(driver.context_pop, "cuCtxPopCurrent_v2") &&
      find(driver.event_create, "cuEventCreate") && find(driver.event_destroy, "cuEventDestroy_v2") &&
      find(driver.event_record, "cuEventRecord") && find(driver.event_query, "cuEventQuery") &&
      find(driver.event_synchronize, "cuEventSynchronize") &&
      // The second form came with CUDA 12.8; the first does the same for events that are complete.
      (find(driver.event_elapsed_time, "cuEventElapsedTime_v2") ||
       find(driver.event_elapsed_time, "cuEventElapsedTime")) &&
      find(driver.memory_allocate, "cuMemAlloc_v2") && find(driver.memory_free, "cuMemFree_v2") &&
      find(driver.memset_async, "cuMemsetD32Async");
  if (!complete) return no_gpu("the NVIDIA driver is too old; torch needs 580 or newer");

  try {
    int count = 0, l2_bytes = 0;
    CUdevice device = 0;
    char name[256] = {};
    driver.require(initialise(0), "starting the driver");
    driver.require(get_count(&count), "counting GPUs");
    if (count == 0) return no_gpu("the driver shows none");
    driver.require(get_device(&device, 0), "opening the first GPU");
    driver.require(get_name(name, sizeof name - 1, device), "reading its name");
    driver.require(get_attribute(&l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device), "reading its cache's size");
    driver.require(retain(&driver.primary_context, device), "making a context");
    driver.device_name = name;
    driver.l2_bytes = static_cast<std::size_t>(l2_bytes);
  } catch (const std::exception& problem) {
    return no_gpu(problem.what());
  }
  return driver;
}

}  // namespace

void CudaDriver::require(CUresult result, const char* tried) const {
  if (result == CUDA_SUCCESS) return;
  const char* words = nullptr;
  if (get_error_string(result, &words) != CUDA_SUCCESS || !words) words = "unknown error";
  throw std::runtime_error(std::string(tried) + " failed: " + words + " (CUDA error " + std::to_string(result) + ")");
}

bool cuda_driver_is_installed() { return driver_library().ok(); }

const Result<CudaDriver>& event_driver() {
  static const Result<CudaDriver> opened = open_driver();
  return opened;
}

CurrentContext::CurrentContext(const CudaDriver& driver) : driver_(driver) {
  driver_.require(driver_.context_push(driver_.primary_context), "making torch's context current");
}

CurrentContext::~CurrentContext() {
  CUcontext popped = nullptr;
  driver_.context_pop(&popped);
}

}  // namespace kw
