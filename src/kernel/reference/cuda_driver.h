#pragma once
// The NVIDIA driver's own interface, loaded when it is first asked for: nothing here is linked against CUDA.

#include <cuda.h>

#include <string>

#include "base/result.h"

namespace kw {

// The first GPU, and the functions that timing needs. Failures of single calls are thrown as std::runtime_error: they
// end the whole call, as torch's own exceptions do, and become an Error at the library's border.
struct CudaDriver {
  std::string device_name;
  std::size_t l2_bytes = 0;
  // The one that torch uses. Held for the life of the process.
  CUcontext primary_context = nullptr;

  decltype(&::cuGetErrorString) get_error_string = nullptr;
  decltype(&::cuCtxPushCurrent) context_push = nullptr;
  decltype(&::cuCtxPopCurrent) context_pop = nullptr;
  decltype(&::cuEventCreate) event_create = nullptr;
  decltype(&::cuEventDestroy) event_destroy = nullptr;
  decltype(&::cuEventRecord) event_record = nullptr;
  decltype(&::cuEventQuery) event_query = nullptr;
  decltype(&::cuEventSynchronize) event_synchronize = nullptr;
  decltype(&::cuEventElapsedTime) event_elapsed_time = nullptr;
  decltype(&::cuMemAlloc) memory_allocate = nullptr;
  decltype(&::cuMemFree) memory_free = nullptr;
  decltype(&::cuMemsetD32Async) memset_async = nullptr;

  // Throws with what was tried and the driver's words for the result.
  void require(CUresult result, const char* tried) const;
};

// Whether a driver is installed; asks it nothing.
bool cuda_driver_is_installed();

// Or why there is none that works. The first answer stays.
const Result<CudaDriver>& event_driver();

// Makes torch's context the current one of this thread, whichever was before, and that one again at the end. Without
// it, torch would work in whatever context another part of the program has left current.
class CurrentContext {
 public:
  explicit CurrentContext(const CudaDriver& driver);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const CudaDriver& driver_;
};

}  // namespace kw
