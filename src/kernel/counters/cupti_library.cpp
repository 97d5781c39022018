#include "kernel/counters/cupti_library.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/shared_library.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr const char* library_name = "libcupti.so.13";

// Folders to look in; an empty one stands for the loader's own search.
std::vector<fs::path> candidate_folders() {
  std::vector<fs::path> folders;
  const auto add_root = [&](const fs::path& root) {
    for (const char* below : {"lib", "lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib"})
      folders.push_back(root / below);
  };
  if (const char* chosen = std::getenv("KERNELWRIGHT_CUDA"); chosen != nullptr && *chosen != 0) add_root(chosen);
  add_root(KW_CUDA_ROOT);
  folders.emplace_back();
  add_root("/usr/local/cuda");
  return folders;
}

std::optional<SharedLibrary> open_library(std::string& path, std::string& last_reason) {
  for (const fs::path& folder : candidate_folders()) {
    std::error_code ignored;
    for (const char* name : {library_name, "libcupti.so"}) {
      const fs::path file = folder / name;
      if (!folder.empty() && !fs::exists(file, ignored)) continue;
      // CUPTI loads this by its bare name, not from its own folder: one that is already there is found, and without it
      // every call of the host API fails as "not initialized".
      if (!folder.empty()) static_cast<void>(SharedLibrary::open(folder / "libnvperf_host.so"));
      const auto library = SharedLibrary::open(file);
      if (library.ok()) {
        path = file;
        return *library;
      }
      last_reason = library.error().message;
    }
  }
  return std::nullopt;
}

std::string advice_for(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "run as root (in a container with CAP_SYS_ADMIN), or load the nvidia module with "
             "NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_HARDWARE_BUSY:
      return "another profiler uses this GPU's counters; wait until it has ended";
    case CUPTI_ERROR_OUT_OF_MEMORY:
      return "free device memory, or ask for fewer metrics";
    case CUPTI_ERROR_NOT_INITIALIZED:
      return "libnvperf_host.so must lie beside libcupti.so.13, or where the loader finds it";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
      return "this GPU has no counters in its present mode; use another";
    default:
      return "";
  }
}

}  // namespace

Result<CuptiLibrary> CuptiLibrary::load() {
  CuptiLibrary cupti;
  std::string reason;
  const auto library = open_library(cupti.path, reason);
  if (!library) {
    return Error{std::string(library_name) + " was not found" + (reason.empty() ? "" : ": " + reason),
                 "install CUDA 13's CUPTI, or set KERNELWRIGHT_CUDA to a CUDA 13 folder that has it",
                 {}};
  }
  const char* missing = nullptr;
  const auto look_up = [&](const char* name, auto& function) {
    if (!library->find(function, name) && missing == nullptr) missing = name;
  };
#define KW_LOOK_UP(name) look_up(#name, cupti.name)
  KW_LOOK_UP(cuptiGetVersion);
  KW_LOOK_UP(cuptiGetDeviceId);
  KW_LOOK_UP(cuptiGetResultString);
  KW_LOOK_UP(cuptiGetErrorMessage);
  KW_LOOK_UP(cuptiProfilerInitialize);
  KW_LOOK_UP(cuptiProfilerDeInitialize);
  KW_LOOK_UP(cuptiProfilerDeviceSupported);
  KW_LOOK_UP(cuptiProfilerGetCounterAvailability);
  KW_LOOK_UP(cuptiDeviceGetChipName);
  KW_LOOK_UP(cuptiProfilerHostInitialize);
  KW_LOOK_UP(cuptiProfilerHostDeinitialize);
  KW_LOOK_UP(cuptiProfilerHostGetMetricProperties);
  KW_LOOK_UP(cuptiProfilerHostConfigAddMetrics);
  KW_LOOK_UP(cuptiProfilerHostGetConfigImageSize);
  KW_LOOK_UP(cuptiProfilerHostGetConfigImage);
  KW_LOOK_UP(cuptiProfilerHostGetNumOfPasses);
  KW_LOOK_UP(cuptiProfilerHostEvaluateToGpuValues);
  KW_LOOK_UP(cuptiRangeProfilerEnable);
  KW_LOOK_UP(cuptiRangeProfilerDisable);
  KW_LOOK_UP(cuptiRangeProfilerGetCounterDataSize);
  KW_LOOK_UP(cuptiRangeProfilerCounterDataImageInitialize);
  KW_LOOK_UP(cuptiRangeProfilerSetConfig);
  KW_LOOK_UP(cuptiRangeProfilerStart);
  KW_LOOK_UP(cuptiRangeProfilerStop);
  KW_LOOK_UP(cuptiRangeProfilerPushRange);
  KW_LOOK_UP(cuptiRangeProfilerPopRange);
  KW_LOOK_UP(cuptiRangeProfilerDecodeData);
  KW_LOOK_UP(cuptiRangeProfilerGetCounterDataInfo);
  KW_LOOK_UP(cuptiRangeProfilerCounterDataGetRangeInfo);
#undef KW_LOOK_UP
  if (missing != nullptr)
    return Error{cupti.path + " has no " + missing, "the range profiler needs the CUPTI of CUDA 13", {}};
  KW_TRY_VOID(cupti.check("cuptiGetVersion", cupti.cuptiGetVersion(&cupti.version)));
  return cupti;
}

Result<void> CuptiLibrary::check(const char* function, CUptiResult result) const {
  if (result == CUPTI_SUCCESS) return {};
  std::string text = std::string(function) + ": ";
  const char* name = nullptr;
  if (cuptiGetResultString(result, &name) == CUPTI_SUCCESS && name != nullptr) text += name;
  text += " (" + std::to_string(static_cast<int>(result)) + ")";
  const char* message = nullptr;
  if (cuptiGetErrorMessage(result, &message) == CUPTI_SUCCESS && message != nullptr && *message != 0)
    text += std::string(": ") + message;
  return Error{text, advice_for(result), {}};
}

}  // namespace kw
