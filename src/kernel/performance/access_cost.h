#pragma once
// What one warp's access costs the memory pipeline, from its 32 addresses.

#include <array>
#include <cstdint>
#include <vector>

#include "kernel/emulate/access_observer.h"

namespace kw {

inline constexpr std::uint32_t sector_bytes = 32;
inline constexpr std::uint32_t line_bytes = 128;

// Appends the 32-byte sectors that are touched, each once (address / 32); returns how many 128-byte lines they lie in.
std::uint32_t collect_sectors(const ObservedAccess& access, std::vector<std::uint64_t>& sectors);

std::uint32_t distinct_addresses(const ObservedAccess& access);

// The fewest sectors that the bytes of the active lanes could lie in. Lanes that read the same place count once.
std::uint32_t fewest_sectors(const ObservedAccess& access);

// Passes through shared memory's 32 banks of 4 bytes: lanes are served in groups of 128 bytes (32 lanes of 4 bytes, 16
// of 8, 8 of 16), and a group takes as many passes as its busiest bank has different words.
std::uint32_t shared_wavefronts(const ObservedAccess& access);
std::uint32_t fewest_wavefronts(const ObservedAccess& access);

// The largest number of lanes at one address.
std::uint32_t same_address_lanes(const ObservedAccess& access);

}  // namespace kw
