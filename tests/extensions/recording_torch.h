// What the host code of tests/extensions does, written down while the real PyTorch works for it: tensors lie in memory
// of the CPU at the addresses that launch plans have (buffer i begins at (i + 1) << 40), kernels are not run.
// scripts/extension_goldens.py puts this in front of all files and keeps the output as goldens.txt.

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <torch/types.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace recording {

struct Memory {
  unsigned char* begin = nullptr;
  size_t bytes = 0;
  bool input = false;
  bool reported = false;  // what the host wrote into it
};
inline std::vector<Memory> memories;
// Kernels are registered before other objects are made.
inline std::map<const void*, std::string>& kernel_names() {
  static std::map<const void*, std::string> names;
  return names;
}
inline std::map<std::string, std::vector<unsigned>> kernel_bytes;  // of each argument, from the PTX
inline bool active = false;

inline void* new_memory(size_t bytes, bool input) {
  void* wanted = reinterpret_cast<void*>(static_cast<uintptr_t>(memories.size() + 1) << 40);
  void* got = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != wanted) std::abort();
  auto* text = static_cast<unsigned char*>(got);
  for (size_t i = 0; i < bytes; ++i) text[i] = input ? static_cast<unsigned char>(i * 37 + 11 + memories.size()) : 0xA5;
  memories.push_back({text, bytes, input, false});
  return got;
}

// Tensors that the host has filled with zeros or copied since the last launch.
inline void report_writes() {
  for (Memory& memory : memories) {
    if (memory.input || memory.reported) continue;
    bool zero = true;
    for (size_t i = 0; i < memory.bytes && zero; ++i) zero = memory.begin[i] == 0;
    if (zero) std::printf("zeroed %llx\n", (unsigned long long)memory.begin);
    memory.reported = zero;
    for (const Memory& from : memories) {
      if (!from.input || from.bytes != memory.bytes || std::memcmp(from.begin, memory.begin, from.bytes) != 0) continue;
      std::printf("copied %llx %llx\n", (unsigned long long)memory.begin, (unsigned long long)from.begin);
      memory.reported = true;
      break;
    }
  }
}

struct Allocator : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, c10::Device(c10::DeviceType::CPU)};
    void* memory = active ? new_memory(bytes, false) : std::malloc(bytes);
    if (active) std::printf("tensor %llx %zu\n", (unsigned long long)memory, bytes);
    return {memory, memory, [](void*) {}, c10::Device(c10::DeviceType::CPU)};
  }
  void copy_data(void* target, const void* source, size_t bytes) const override { std::memcpy(target, source, bytes); }
};

inline void begin(const char* name, int size) {
  for (Memory& memory : memories) munmap(memory.begin, memory.bytes);
  memories.clear();
  std::printf("begin %s %d\n", name, size);
}

inline at::Tensor input(std::vector<int64_t> sizes, at::ScalarType type) {
  size_t bytes = c10::elementSize(type);
  for (const int64_t size : sizes) bytes *= static_cast<size_t>(size);
  return torch::from_blob(new_memory(bytes, true), sizes, torch::dtype(type));
}

inline void returned(const at::Tensor& tensor) {
  std::printf("return %llx %s", (unsigned long long)tensor.data_ptr(), c10::toString(tensor.scalar_type()));
  for (const int64_t size : tensor.sizes()) std::printf(" %lld", (long long)size);
  std::printf("\n");
}
inline void returned(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) returned(tensor);
}
inline void returned(const std::tuple<at::Tensor, at::Tensor>& tensors) {
  returned(std::get<0>(tensors));
  returned(std::get<1>(tensors));
}

template <class Call>
void record(const Call& call) {
  static Allocator allocator;
  static const bool set = (c10::SetAllocator(c10::DeviceType::CPU, &allocator, 255), true);
  static_cast<void>(set);
  active = true;
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    report_writes();
  } else {
    const auto result = call();
    report_writes();
    returned(result);
  }
  active = false;
}

inline void read_kernel_bytes(const char* path) {
  std::ifstream file(path);
  for (std::string name; file >> name;) {
    unsigned count = 0;
    file >> count;
    std::vector<unsigned>& bytes = kernel_bytes[name];
    bytes.resize(count);
    for (unsigned& one : bytes) file >> one;
  }
}

struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
inline Configuration configuration;

inline void write_launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                         cudaStream_t stream) {
  report_writes();
  const std::string& name = kernel_names()[function];
  std::printf("launch %s %u %u %u %u %u %u %zu 0 %s", name.c_str(), grid.x, grid.y, grid.z, block.x, block.y, block.z,
              shared, stream == nullptr ? "default" : "own");
  const auto& bytes = kernel_bytes.at(name);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::printf(" ");
    for (unsigned b = 0; b < bytes[i]; ++b) std::printf("%02x", static_cast<const unsigned char*>(arguments[i])[b]);
  }
  std::printf("\n");
}

}  // namespace recording

// The part of PyTorch that needs a GPU.
namespace at::cuda {
struct CUDAStream {
  operator cudaStream_t() const { return reinterpret_cast<cudaStream_t>(0x5); }
  cudaStream_t stream() const { return *this; }
};
inline CUDAStream getCurrentCUDAStream() { return {}; }
struct CUDAGuard {
  template <class T>
  explicit CUDAGuard(const T&) {}
};
using OptionalCUDAGuard = CUDAGuard;
inline cudaDeviceProp* getCurrentDeviceProperties() {
  static cudaDeviceProp properties = {};
  properties.multiProcessorCount = 132;
  return &properties;
}
}  // namespace at::cuda
namespace c10::cuda {
using at::cuda::getCurrentCUDAStream;
}
namespace py {
struct arg {
  explicit arg(const char*) {}
};
}  // namespace py
#define AT_CUDA_CHECK(call) static_cast<void>(call)
#define C10_CUDA_CHECK(call) static_cast<void>(call)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() static_cast<void>(0)
#undef TORCH_LIBRARY
#undef TORCH_LIBRARY_IMPL
#define TORCH_LIBRARY(name, m) \
  template <class Module>      \
  void library_##name(Module& m)
#define TORCH_LIBRARY_IMPL(name, key, m) \
  template <class Module>                \
  void library_##name##_##key(Module& m)
#define PYBIND11_MODULE(name, m) \
  template <class Module>        \
  void module_##name(Module& m)
#define is_cuda is_cpu
#define kCUDA kCPU
