#pragma once
// What the parts of a device session share: how the driver is called, and how memory is divided up.

#include <algorithm>
#include <cstdint>

#include "kernel/gpu/device_session.h"

// In a member of DeviceSession: returns the error to the caller.
#define KW_CUDA(call)                                           \
  do {                                                          \
    const CUresult kw_code = cuda_.call;                        \
    if (kw_code != CUDA_SUCCESS) return failed(kw_code, #call); \
  } while (false)

namespace kw {

inline constexpr std::uint64_t least_zone_bytes = 4096, most_zone_bytes = 1u << 20;
inline constexpr std::size_t most_counters = 4096;
inline constexpr std::size_t counters_read = 3072;  // of them; others are scratch

inline std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

// Beside each buffer; larger ones for larger buffers, because strides go wrong by rows.
inline std::uint64_t zone_bytes(std::uint64_t buffer_bytes) {
  return rounded_up(std::clamp(buffer_bytes, least_zone_bytes, most_zone_bytes), tensor_alignment);
}

}  // namespace kw
