// The device and its context: what there is, and whether it can still be used.

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include "kernel/emulated_driver/state.h"

namespace kw::emulated_driver {

// Never destroyed: a thread may be inside of an endless kernel when the process ends.
Device& device() {
  static Device& only = *new Device;
  return only;
}

CUcontext& current_context() {
  static thread_local CUcontext current = nullptr;
  return current;
}

CUresult ready_for_device(const Device& device) {
  return device.initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult ready_for_context(const Device& device) {
  if (const CUresult ready = ready_for_device(device); ready != CUDA_SUCCESS) return ready;
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return device.fault;
}

bool Device::has_stream(CUstream stream) const {
  return stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD || streams.has(stream);
}

bool Device::has_function(CUfunction function) const {
  return modules.find_if([&](const CUmod_st& module) {
    return std::any_of(module.functions.begin(), module.functions.end(),
                       [&](const auto& each) { return &each.second == function; });
  }) != nullptr;
}

namespace {

constexpr int most_devices = 16;

// As the NVIDIA driver reads CUDA_VISIBLE_DEVICES: up to the first entry that names no device.
std::vector<int> visible_devices() {
  const char* wanted = std::getenv("KERNELWRIGHT_EMULATED_GPUS");
  const int count = std::clamp(wanted != nullptr ? std::atoi(wanted) : 1, 0, most_devices);
  std::vector<int> visible;
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (int number = 0; number < count; ++number) visible.push_back(number);
    return visible;
  }
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    char* end = nullptr;
    const long number = std::strtol(entry.c_str(), &end, 10);
    if (entry.empty() || *end != '\0' || number < 0 || number >= count) break;
    visible.push_back(static_cast<int>(number));
  }
  return visible;
}

bool is_shown(const Device& device, CUdevice number) {
  return number >= 0 && static_cast<std::size_t>(number) < device.visible.size();
}

int attribute(CUdevice_attribute wanted) {
  switch (wanted) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return 0;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return static_cast<int>(multiprocessors);
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return static_cast<int>(threads_multiprocessor);
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      return static_cast<int>(blocks_multiprocessor);
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return static_cast<int>(shared_bytes_default);
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return static_cast<int>(shared_bytes_optin);
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return static_cast<int>(shared_bytes_multiprocessor);
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return 1 << 20;  // small, so that flushing it is cheap
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return 1'000'000;  // kHz
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return 1'000'000;  // kHz; twice a clock over the width below: 1024 GB/s
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return 4096;  // bits
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      return 1;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
      return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
      return 512;
    default:
      return 0;  // features that it lacks, pageable memory access among them
  }
}

}  // namespace
}  // namespace kw::emulated_driver

using namespace kw::emulated_driver;

KW_EXPORT CUresult cuInit(unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Device& state = device();
  if (state.forked) return CUDA_ERROR_NOT_INITIALIZED;
  std::lock_guard lock(state.mutex);
  if (!state.initialised) state.visible = visible_devices();
  if (state.visible.empty()) return CUDA_ERROR_NO_DEVICE;
  if (!state.initialised) ::pthread_atfork(nullptr, nullptr, [] { device().forked = true; });
  state.initialised = true;
  return CUDA_SUCCESS;
}

KW_EXPORT CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

KW_EXPORT CUresult cuDeviceGetCount(int* count) {
  return with_device([&](Device& state) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<int>(state.visible.size());
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuDeviceGet(CUdevice* number, int ordinal) {
  return with_device([&](Device& state) {
    if (number == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!is_shown(state, ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *number = ordinal;
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice number) {
  return with_device([&](Device& state) {
    if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (!is_shown(state, number)) return CUDA_ERROR_INVALID_DEVICE;
    std::strncpy(name, "Kernelwright emulated GPU", static_cast<std::size_t>(length) - 1);
    name[length - 1] = '\0';
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice number) {
  return with_device([&](Device& state) {
    if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!is_shown(state, number)) return CUDA_ERROR_INVALID_DEVICE;
    std::memcpy(uuid->bytes, "kernelwright-emu", sizeof uuid->bytes);
    uuid->bytes[15] = static_cast<char>(uuid->bytes[15] + state.visible[static_cast<std::size_t>(number)]);
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute wanted, CUdevice number) {
  return with_device([&](Device& state) {
    if (value == nullptr || wanted <= 0 || wanted >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    if (!is_shown(state, number)) return CUDA_ERROR_INVALID_DEVICE;
    *value = attribute(wanted);
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice number) {
  return with_device([&](Device& state) {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!is_shown(state, number)) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = device_memory_bytes;
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice number) {
  return with_device([&](Device& state) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!is_shown(state, number)) return CUDA_ERROR_INVALID_DEVICE;
    *context = &state.context;
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice number, unsigned int) {
  return with_device([&](Device& state) { return is_shown(state, number) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; });
}

KW_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  return with_device([&](Device& state) {
    if (context != nullptr && context != &state.context) return CUDA_ERROR_INVALID_CONTEXT;
    current_context() = context;
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuCtxSynchronize() {
  return in_context([](Device& state) {
    CUstream_st* capturing = state.streams.find_if([](const CUstream_st& each) { return each.capturing; });
    if (capturing == nullptr) return CUDA_SUCCESS;
    capturing->capture_valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  });
}

KW_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t) {
  return in_context(
      [&](Device&) { return limit >= 0 && limit < CU_LIMIT_MAX ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT; });
}

KW_EXPORT CUresult cuCtxResetPersistingL2Cache() {
  return in_context([](Device&) { return CUDA_SUCCESS; });
}
