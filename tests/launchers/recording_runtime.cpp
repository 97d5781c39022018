// A CUDA runtime that launches nothing and writes down what it is asked to do, one line a call. nvcc-built launchers
// linked against it show what their host code really does; src/source/nvcc_agreement_test.cpp compares that with the
// launch plan. Device buffers are addresses only: buffer i begins at (i + 1) << 40.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

namespace {

std::map<const void*, std::string> kernel_names;  // by the host's stub function
int next_buffer = 0;
const unsigned* argument_bytes = nullptr;  // of the present launcher: count, sizes, count, sizes, ...
const cudaStream_t launcher_stream = reinterpret_cast<cudaStream_t>(0x5);

struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
} configuration;

void write_launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream,
                  bool cooperative) {
  const auto found = kernel_names.find(function);
  std::printf("launch %s %u %u %u %u %u %u %zu %d %s", found == kernel_names.end() ? "?" : found->second.c_str(),
              grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, cooperative,
              stream == launcher_stream ? "own"
              : stream == nullptr       ? "default"
                                        : "other");
  const unsigned count = *argument_bytes++;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned bytes = *argument_bytes++;
    std::printf(" ");
    for (unsigned b = 0; b < bytes; ++b) std::printf("%02x", static_cast<const unsigned char*>(arguments[i])[b]);
  }
  std::printf("\n");
}

unsigned long long address(const void* pointer) { return reinterpret_cast<unsigned long long>(pointer); }

cudaError_t allocate(void** pointer, size_t bytes) {
  *pointer = reinterpret_cast<void*>(static_cast<uintptr_t>(++next_buffer) << 40);
  std::printf("allocate %llx %zu\n", address(*pointer), bytes);
  return cudaSuccess;
}

cudaError_t release(void* pointer) {
  if (pointer != nullptr) std::printf("free %llx\n", address(pointer));
  return cudaSuccess;
}

}  // namespace

// For the generated driver. Twelve zeros stand behind every table, so that one launch too many is seen, not followed.
extern "C" void recording_begin(int launcher, int size, int buffers, const unsigned* bytes) {
  std::printf("begin %d %d\n", launcher, size);
  next_buffer = buffers;
  argument_bytes = bytes;
}

extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
void __cudaRegisterFunction(void**, const char* host, char*, const char* device_name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  kernel_names[host] = device_name;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  configuration = {grid, block, shared, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *static_cast<cudaStream_t*>(stream) = configuration.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  write_launch(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared, stream, false);
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  write_launch(function, grid, block, arguments, shared, stream, false);
  return cudaSuccess;
}
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                        cudaStream_t stream) {
  write_launch(function, grid, block, arguments, shared, stream, true);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) { return allocate(pointer, bytes); }
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) { return allocate(pointer, bytes); }
cudaError_t cudaFree(void* pointer) { return release(pointer); }
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return release(pointer); }
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t) {
  std::printf("memset %llx %d %zu\n", address(pointer), value & 255, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  return cudaMemsetAsync(pointer, value, bytes, nullptr);
}
cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  std::printf("copy %llx %llx %zu\n", address(target), address(source), bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(target, source, bytes, kind, nullptr);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  const auto found = kernel_names.find(function);
  std::printf("limit %s %d\n", found == kernel_names.end() ? "?" : found->second.c_str(), value);
  return cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
cudaError_t cudaPeekAtLastError(void) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "no error"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaSuccess"; }

// The H200 of LaunchDevice.
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = 132;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = 227 << 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = 48 << 10;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = 1024;
      break;
    case cudaDevAttrWarpSize:
      *value = 32;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  properties->multiProcessorCount = 132;
  properties->warpSize = 32;
  properties->major = 9;
  properties->sharedMemPerBlock = 48 << 10;
  properties->maxThreadsPerBlock = 1024;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, size_t shared) {
  const int by_threads = 2048 / ((threads + 31) / 32 * 32);
  const int by_shared = static_cast<int>((228 << 10) / (shared + 1024));
  *blocks = by_threads < by_shared ? by_threads : by_shared;
  if (*blocks > 32) *blocks = 32;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                   size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

}  // extern "C"
