#pragma once
// The functions of NCCL 2 that are used, found at run time.

#include <array>
#include <cstddef>
#include <memory>

#include "base/result.h"
#include "model/distributed/nccl.h"

namespace kw {

inline constexpr int nccl_success = 0, nccl_in_progress = 7;  // ncclResult_t
inline constexpr int nccl_sum = 0;                            // ncclRedOp_t

struct NcclUniqueId {
  std::array<char, 128> bytes;
};

// The beginning of ncclConfig_t, as it was in 2.14; `size` and `version` tell newer libraries that the rest is missing.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
};

struct NcclCommunicator::Library {
  int (*get_version)(int*) = nullptr;
  int (*get_unique_id)(NcclUniqueId*) = nullptr;
  int (*init_rank)(void**, int, NcclUniqueId, int, NcclConfig*) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, void*, void*) = nullptr;
  int (*reduce)(const void*, void*, std::size_t, int, int, int, void*, void*) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*async_error)(void*, int*) = nullptr;
  int (*finalize)(void*) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*abort)(void*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  const char* (*last_error)(void*) = nullptr;

  static Result<std::shared_ptr<const Library>> load();
};

}  // namespace kw
