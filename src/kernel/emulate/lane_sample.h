#pragma once
// Operands for the tests of lane operations: special values of each type (zeros, subnormals, limits, ties, NaN) mixed
// with random ones.

#include <array>
#include <cstdint>
#include <random>

#include "kernel/emulate/lane_operations.h"

namespace kw {

// Slots of up to four sources and one destination, each with room for 8-byte lanes, and the predicates of one
// operation.
struct LaneSample {
  struct alignas(64) SlotBytes {
    std::byte bytes[256];
  };
  std::array<SlotBytes, 4> source;
  SlotBytes destination;
  std::uint32_t predicate_in = 0;
  std::uint32_t predicate_in_other = 0;
  std::uint32_t predicate_out = 0;
  std::uint32_t predicate_out_other = 0;
};

// Lane `lane` of a slot whose lanes are as wide as `type` needs.
std::uint64_t lane_value(const LaneSample::SlotBytes& slot, PtxType type, int lane);
void set_lane_value(LaneSample::SlotBytes& slot, PtxType type, int lane, std::uint64_t bits);
bool has_wide_lanes(PtxType type);

std::uint64_t sample_value(PtxType type, std::mt19937_64& random);
LaneSample make_sample(const LaneForm& form, std::mt19937_64& random);
void run_sample(const LaneForm& form, LaneSample& sample, std::uint32_t active);

}  // namespace kw
