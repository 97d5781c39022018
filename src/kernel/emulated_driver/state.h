#pragma once
// What the emulated driver knows: devices that are all alike (KERNELWRIGHT_EMULATED_GPUS of them, of which
// CUDA_VISIBLE_DEVICES shows some), and one context: a process uses one of them. It stands in for libcuda.so.1 in tests
// of the GPU backend on machines without a GPU: the functions of kernel/gpu/driver.h, over the PTX emulator. It runs
// everything at once and in order, and its clock is simulated; it says nothing about how fast a kernel is.

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "kernel/emulate/emulator.h"
#include "kernel/emulated_driver/work.h"

#define KW_EXPORT extern "C" __attribute__((visibility("default")))

// CUDA's handles are pointers to these.
struct CUctx_st {};

struct CUfunc_st {
  CUmodule module = nullptr;
  std::string name;
  const kw::Program* program = nullptr;
  std::uint32_t dynamic_shared_limit_bytes = 0;
};

struct CUmod_st {
  explicit CUmod_st(kw::LoadedModule loaded) : code(std::move(loaded)) {}
  kw::LoadedModule code;
  kw::DeviceMemory variables;  // the __device__ and __constant__ variables while another module's are in place
  std::map<std::string, CUfunc_st, std::less<>> functions;
};

struct CUstream_st {
  bool blocking = true;  // waits for the default stream, and the other way round
  bool capturing = false;
  bool capture_valid = true;
  std::vector<kw::emulated_driver::Work> captured;
};

struct CUgraph_st {
  std::vector<kw::emulated_driver::Work> work;
};

struct CUgraphExec_st {
  std::vector<kw::emulated_driver::Work> work;
};

struct CUevent_st {
  bool timed = true;
  bool recorded = false;
  double time_ns = 0;
};

namespace kw::emulated_driver {

inline constexpr std::uint64_t device_memory_bytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t variables_window_bytes = 4 << 20;  // of one module
inline constexpr std::uint32_t shared_bytes_default = 48 << 10;
inline constexpr std::uint32_t shared_bytes_optin = 227 << 10;
inline constexpr std::uint32_t shared_bytes_multiprocessor = 228 << 10;
inline constexpr std::uint32_t threads_multiprocessor = 2048;
inline constexpr std::uint32_t blocks_multiprocessor = 32;
inline constexpr std::uint32_t multiprocessors = 2;

// Handles that were given out and not taken back; any other is refused.
template <class T>
class Handles {
 public:
  T* add(std::unique_ptr<T> object) {
    T* handle = object.get();
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  bool has(T* handle) const { return objects_.count(handle) != 0; }
  bool remove(T* handle) { return objects_.erase(handle) != 0; }
  template <class Condition>
  T* find_if(Condition condition) const {
    for (const auto& [handle, object] : objects_)
      if (condition(*object)) return handle;
    return nullptr;
  }

 private:
  std::unordered_map<T*, std::unique_ptr<T>> objects_;
};

struct Device {
  std::mutex mutex;
  bool initialised = false;
  std::vector<int> visible = {};  // the devices that are shown, by their number among all
  bool forked = false;            // this process is the child of one that had initialised the driver
  CUresult fault = CUDA_SUCCESS;  // of a kernel: sticky, as a context is lost after it
  CUctx_st context;
  DeviceMemory memory{{device_memory_bytes + (16 << 20), 1 << 20}};  // room for variables and the grid's workspace
  std::uint64_t allocated_bytes = 0;
  CUmodule module_in_place = nullptr;  // whose variables are in `memory`
  std::uint64_t variables_base = 0;    // 0: no window has been mapped
  Handles<CUmod_st> modules;
  Handles<CUstream_st> streams;
  Handles<CUgraph_st> graphs;
  Handles<CUgraphExec_st> executable_graphs;
  Handles<CUevent_st> events;
  std::unordered_map<void*, std::unique_ptr<std::byte[]>> host_memory;
  double clock_ns = 0;
  Random noise{0x6b77};

  // Work of this length, give or take half a percent, so that statistics have something to do.
  void pass(double time_ns) { clock_ns += time_ns * noise.uniform(0.995, 1.005); }
  bool has_function(CUfunction function) const;
  bool has_stream(CUstream stream) const;  // the default streams included
};

Device& device();
CUcontext& current_context();  // of this thread

// What a call needs before it may touch the device; `fault` only matters to calls that use the context.
CUresult ready_for_device(const Device& device);
CUresult ready_for_context(const Device& device);

// Each call is one of these: it has the device for itself.
template <class Call>
CUresult with_device(Call call) {
  Device& state = device();
  if (state.forked) return CUDA_ERROR_NOT_INITIALIZED;  // the mutex may have been held when the process was forked
  std::lock_guard lock(state.mutex);
  if (const CUresult ready = ready_for_device(state); ready != CUDA_SUCCESS) return ready;
  return call(state);
}

template <class Call>
CUresult in_context(Call call) {
  Device& state = device();
  if (state.forked) return CUDA_ERROR_NOT_INITIALIZED;  // the mutex may have been held when the process was forked
  std::lock_guard lock(state.mutex);
  if (const CUresult ready = ready_for_context(state); ready != CUDA_SUCCESS) return ready;
  try {
    return call(state);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

// Puts the variables of a module where its code expects them; those of the module before are kept with it.
CUresult put_variables_in_place(Device& device, CUmodule module);

}  // namespace kw::emulated_driver
