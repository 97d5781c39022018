#pragma once
// CUPTI, loaded when it is needed, so that one program serves machines with and without it. Written for the range
// profiler and the host API of CUDA 13; a library that lacks one of these functions is refused by name.

#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace kw {

struct CuptiLibrary {
  // Looks in KERNELWRIGHT_CUDA, where the build found it, what the loader knows, and /usr/local/cuda, in this order.
  static Result<CuptiLibrary> load();

  std::string path;           // as it was loaded
  std::uint32_t version = 0;  // CUPTI_API_VERSION of the library: 130001

  // "cuptiRangeProfilerStart: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)", with advice where there is some.
  Result<void> check(const char* function, CUptiResult result) const;

  // Declared in cupti_version.h and cupti_activity.h, which bring in far more than this.
  CUptiResult (*cuptiGetVersion)(std::uint32_t*) = nullptr;
  CUptiResult (*cuptiGetDeviceId)(CUcontext, std::uint32_t*) = nullptr;
  decltype(&::cuptiGetResultString) cuptiGetResultString = nullptr;
  decltype(&::cuptiGetErrorMessage) cuptiGetErrorMessage = nullptr;

  decltype(&::cuptiProfilerInitialize) cuptiProfilerInitialize = nullptr;
  decltype(&::cuptiProfilerDeInitialize) cuptiProfilerDeInitialize = nullptr;
  decltype(&::cuptiProfilerDeviceSupported) cuptiProfilerDeviceSupported = nullptr;
  decltype(&::cuptiProfilerGetCounterAvailability) cuptiProfilerGetCounterAvailability = nullptr;
  decltype(&::cuptiDeviceGetChipName) cuptiDeviceGetChipName = nullptr;

  decltype(&::cuptiProfilerHostInitialize) cuptiProfilerHostInitialize = nullptr;
  decltype(&::cuptiProfilerHostDeinitialize) cuptiProfilerHostDeinitialize = nullptr;
  decltype(&::cuptiProfilerHostGetMetricProperties) cuptiProfilerHostGetMetricProperties = nullptr;
  decltype(&::cuptiProfilerHostConfigAddMetrics) cuptiProfilerHostConfigAddMetrics = nullptr;
  decltype(&::cuptiProfilerHostGetConfigImageSize) cuptiProfilerHostGetConfigImageSize = nullptr;
  decltype(&::cuptiProfilerHostGetConfigImage) cuptiProfilerHostGetConfigImage = nullptr;
  decltype(&::cuptiProfilerHostGetNumOfPasses) cuptiProfilerHostGetNumOfPasses = nullptr;
  decltype(&::cuptiProfilerHostEvaluateToGpuValues) cuptiProfilerHostEvaluateToGpuValues = nullptr;

  decltype(&::cuptiRangeProfilerEnable) cuptiRangeProfilerEnable = nullptr;
  decltype(&::cuptiRangeProfilerDisable) cuptiRangeProfilerDisable = nullptr;
  decltype(&::cuptiRangeProfilerGetCounterDataSize) cuptiRangeProfilerGetCounterDataSize = nullptr;
  decltype(&::cuptiRangeProfilerCounterDataImageInitialize) cuptiRangeProfilerCounterDataImageInitialize = nullptr;
  decltype(&::cuptiRangeProfilerSetConfig) cuptiRangeProfilerSetConfig = nullptr;
  decltype(&::cuptiRangeProfilerStart) cuptiRangeProfilerStart = nullptr;
  decltype(&::cuptiRangeProfilerStop) cuptiRangeProfilerStop = nullptr;
  decltype(&::cuptiRangeProfilerPushRange) cuptiRangeProfilerPushRange = nullptr;
  decltype(&::cuptiRangeProfilerPopRange) cuptiRangeProfilerPopRange = nullptr;
  decltype(&::cuptiRangeProfilerDecodeData) cuptiRangeProfilerDecodeData = nullptr;
  decltype(&::cuptiRangeProfilerGetCounterDataInfo) cuptiRangeProfilerGetCounterDataInfo = nullptr;
  decltype(&::cuptiRangeProfilerCounterDataGetRangeInfo) cuptiRangeProfilerCounterDataGetRangeInfo = nullptr;
};

}  // namespace kw

// KW_CUPTI_PARAMS(start, CUpti_RangeProfiler_Start_Params): zeroed, with the size that this header knows, by which a
// newer library recognises which fields are there.
#define KW_CUPTI_PARAMS(name, type) \
  type name{};                      \
  name.structSize = type##_STRUCT_SIZE

// KW_CUPTI(cupti, cuptiRangeProfilerStart, start): a Result<void> whose error names the function.
#define KW_CUPTI(library, function, params) (library).check(#function, (library).function(&(params)))
