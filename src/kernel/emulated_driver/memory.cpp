// Allocations, copies and fills.

#include "kernel/emulated_driver/state.h"

using namespace kw::emulated_driver;

KW_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return in_context([&](Device& state) {
    if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > device_memory_bytes - state.allocated_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    // Costs nothing until it is touched, and counts as written: hardware does not tell either.
    const auto allocated = state.memory.allocate_untouched(bytes, "allocation", kw::MemoryAccessRight::read_write);
    if (!allocated.ok()) return CUDA_ERROR_OUT_OF_MEMORY;
    state.allocated_bytes += bytes;
    *address = *allocated;
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  return in_context([&](Device& state) {
    if (address == 0) return CUDA_SUCCESS;
    const kw::Allocation* allocation = state.memory.find(address);
    if (allocation == nullptr || address < kw::DeviceMemory::first_address) return CUDA_ERROR_INVALID_VALUE;
    const std::uint64_t bytes = allocation->bytes;
    if (!state.memory.free(address).ok()) return CUDA_ERROR_INVALID_VALUE;
    state.allocated_bytes -= bytes;
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) {
  return in_context([&](Device& state) {
    if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    auto memory = std::make_unique<std::byte[]>(bytes);
    *pointer = memory.get();
    state.host_memory.emplace(*pointer, std::move(memory));
    return CUDA_SUCCESS;
  });
}

KW_EXPORT CUresult cuMemFreeHost(void* pointer) {
  return in_context(
      [&](Device& state) { return state.host_memory.erase(pointer) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
}

KW_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void* source, size_t bytes, CUstream stream) {
  return in_context([&](Device& state) { return submit(state, stream, CopyToDeviceWork{target, source, bytes}); });
}

KW_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* target, CUdeviceptr source, size_t bytes, CUstream stream) {
  return in_context([&](Device& state) { return submit(state, stream, CopyToHostWork{target, source, bytes}); });
}

KW_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream) {
  return in_context([&](Device& state) { return submit(state, stream, CopyOnDeviceWork{target, source, bytes}); });
}

KW_EXPORT CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t count, CUstream stream) {
  return in_context([&](Device& state) { return submit(state, stream, FillWork{target, value, 1, count}); });
}

KW_EXPORT CUresult cuMemsetD32Async(CUdeviceptr target, unsigned int value, size_t count, CUstream stream) {
  return in_context([&](Device& state) { return submit(state, stream, FillWork{target, value, 4, count}); });
}
