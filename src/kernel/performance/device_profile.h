#pragma once
// The numbers of a device, and of its instructions, that the performance model multiplies counts with. All of them come
// from profiles/NAME.yaml and profiles/instructions.yaml, so that a fit against measurements changes no code.

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel/compile/architecture.h"

namespace kw {

enum class Pipe { fp32, fp64, fp16, integer, special, convert, tensor, memory, shuffle, control };
inline constexpr std::size_t pipe_count = 10;
std::string_view name_of(Pipe pipe);  // "fp32 pipe"

// What a PTX instruction becomes on the hardware.
struct InstructionCost {
  std::string form;  // opcode and words that the instruction's form must have, in any order: "div rn f32"
  Pipe pipe = Pipe::integer;
  double issue_slots = 1;  // machine instructions
  double pipe_slots = 1;   // of them, those that go to `pipe`
  double latency_cycles = 4;
};

struct DeviceProfile {
  std::string name;
  std::string digest;  // of the files that it was read from: equal digests give equal estimates
  GpuArchitecture architecture = GpuArchitecture::sm_90;
  int multiprocessors = 0;
  double clock_ghz = 0;

  // Achievable, not the datasheet's.
  double dram_gb_per_s = 0;
  double dram_peak_gb_per_s = 0;  // of the datasheet, which nothing exceeds; not given: a tenth more than is achieved
  double dram_ramp_us = 0;        // until DRAM is busy, and from when it no longer is: added to bytes / bandwidth
  double l2_gb_per_s = 0;
  double l2_bytes_per_cycle_and_sm = 64;
  double l2_mib = 0;  // what one SM's data can occupy

  double l1_kib = 0;  // together with shared memory
  double l1_sectors_per_cycle = 4;
  double store_lines_per_cycle = 1;  // packets to the L2, one for each line of a store
  double l1_lines_per_cycle = 1;     // tags looked up
  double shared_wavefronts_per_cycle = 1;
  double issue_per_cycle = 4;
  std::array<double, pipe_count> lanes_per_cycle{};  // of an SM, by Pipe; tensor: fp16 multiply-adds
  double tensor_tf32_rate = 0.5;                     // relative to fp16; likewise the next two
  double tensor_int8_rate = 2;
  double tensor_fp64_rate = 0;

  double l1_latency_cycles = 0;
  double shared_latency_cycles = 0;
  double l2_latency_cycles = 0;
  double dram_latency_cycles = 0;
  double instruction_latency_factor = 1;  // to the latencies of instructions.yaml
  double barrier_cycles = 0;
  double block_start_cycles = 0;  // from one block's end on an SM to the next one's first instruction, and its draining
  double warp_start_cycles = 0;   // added for each warp of a block
  double blocks_per_ns = 0;       // that the whole device can start
  double branch_cycles = 0;

  double launch_us = 0;                  // of the first kernel in the measured interval
  double next_launch_us = 0;             // of each one that follows in the stream
  double transfer_us = 0;                // of a memset or copy, besides its bandwidth
  double allocation_us = 0;              // of a plan that calls cudaMallocAsync: the pool grows once
  double atomic_same_address_ns = 0;     // global: one update after the other
  double atomic_line_ns = 0;             // global: one sector of a line after the other
  double atomic_sectors_per_ns = 0;      // global: of the whole device
  double shared_atomic_cycles = 0;       // native (integers), for each conflicting lane
  double shared_atomic_loop_cycles = 0;  // floats: a compare-and-swap loop

  double norm_exponent = 7;                // how the terms are joined
  double uncertainty = 0.35;               // relative, of the whole model
  double uncertainty_extrapolated = 0.15;  // added where loops were cut short

  std::vector<InstructionCost> instructions;  // those with the most words first

  const InstructionCost& cost_of(std::string_view form) const;
};

// "h200", or a path to a YAML file. instructions.yaml is read from the same folder, or from profiles/.
Result<DeviceProfile> load_profile(const std::string& name_or_path);
// The text of that file.
Result<std::string> read_profile_text(const std::string& name_or_path);
// KERNELWRIGHT_PROFILES, or profiles/ beside or above the program.
Result<std::filesystem::path> profiles_folder();
std::vector<std::string> profile_names(const std::filesystem::path& folder);

}  // namespace kw
