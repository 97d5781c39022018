#pragma once
// What the pool and a GPU worker say to each other over a socket: one request, one reply, in frames of a fixed head and
// a bounded body. A worker has executed untrusted device code, so its replies are decoded with bounds like any other
// input.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/gpu/gpu_plan.h"
#include "kernel/task/drawn_inputs.h"

namespace kw {

enum class GpuCommand : std::uint64_t {
  load_module,
  load_inputs,
  forget_inputs,
  run,
  time,  // what was laid out by the command before
  profile,
  transfer_rate,
  lay_out_timing
};

enum class GpuOutcome : std::uint64_t {
  done,
  refused,   // the driver did not take it (a bad image, a launch beyond the limits); the worker goes on
  fault,     // the device code failed and the context with it; the worker ends
  no_memory  // of the device; the worker goes on
};

struct GpuRequestHead {
  std::uint64_t magic = 0;
  GpuCommand command = GpuCommand::run;
  std::uint64_t body_bytes = 0;
  std::uint64_t has_file = 0;  // a descriptor travels with the head
};

struct GpuReplyHead {
  std::uint64_t magic = 0;
  GpuOutcome outcome = GpuOutcome::done;
  std::uint64_t body_bytes = 0;
};

inline constexpr std::uint64_t gpu_request_magic = 0x4b57475055525131;
inline constexpr std::uint64_t gpu_reply_magic = 0x4b57475055525031;
inline constexpr std::uint64_t gpu_body_limit = std::uint64_t{1} << 30;

// The device, as the worker found it.
struct GpuFacts {
  std::string name;
  std::string uuid;    // hexadecimal
  int capability = 0;  // 90 is 9.0
  int multiprocessors = 0;
  int driver_version = 0;    // 13000 is 13.0
  int clock_khz = 0;         // the highest; 0: not known, likewise the next two
  int memory_clock_khz = 0;  // two transfers a cycle
  int memory_bus_bits = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t l2_bytes = 0;
  bool reads_host_memory = false;  // kernels can reach any memory of their process
  std::string protection;          // how the worker is confined
  bool confined = false;           // with all that we know: namespaces, the driver's files alone, no rights
};

struct ModuleRequest {
  std::uint64_t slot = 0;  // what was there is unloaded
  std::string image;       // cubin or PTX; empty: only unload
  std::vector<std::string> kernels;
};

struct InputLayout {
  std::uint64_t bytes = 0;
  std::uint64_t file_bytes = 0;      // in the file: all of it, or the recipe's table
  std::optional<DrawRecipe> recipe;  // it is drawn on the device
};

// Tensors one after the other in the file that comes along, each at a multiple of 256 bytes.
struct InputsRequest {
  std::uint64_t id = 0;
  std::vector<InputLayout> tensors;
};
inline constexpr std::uint64_t tensor_alignment = 256;

// Elements that are sent back; all of the output when there are no offsets.
struct OutputSample {
  std::uint64_t chunk_bytes = 0;
  std::vector<std::uint64_t> offsets_bytes;
  bool whole() const { return offsets_bytes.empty(); }
};

struct RunRequest {
  std::uint64_t slot = 0;
  std::uint64_t inputs = 0;
  std::uint64_t placement_seed = 0;  // where outputs and scratch lie
  GpuPlan plan;
  std::vector<OutputSample> samples;  // of each output of the plan
};

// What was found wrong with memory after a run; -1: nothing.
struct MemoryState {
  bool inputs_changed = false;
  std::int64_t overrun_buffer = -1;  // words beside this buffer of the plan were overwritten
  bool state_left = false;           // variables of the module were left changed; they are noise now
};

struct RunReply {
  std::vector<std::string> outputs;
  MemoryState memory;
  double time_us = 0;  // of the steps, cold and not repeated: an order of magnitude
};

struct TimedPlan {
  std::uint64_t slot = 0;
  GpuPlan plan;
};

struct TimeRequest {
  std::uint64_t inputs = 0;
  std::uint64_t seed = 0;
  TimedPlan candidate;
  std::optional<TimedPlan> baseline;
  std::vector<OutputSample> samples;
  int input_sets = 3;
  int least_rounds = 6;
  int most_rounds = 24;
  double relative_half_width = 0.02;
  double budget_ms = 60;
};

struct TimeReply {
  std::vector<double> candidate_us;  // one for each round ...
  std::vector<double> baseline_us;   // ... and its neighbour in time
  bool candidate_by_graph = false;
  bool baseline_by_graph = false;
  double flush_us = 0;
  std::vector<double> spent_ms;  // laying out, raising clocks, warming up, making graphs, measuring, looking after
  MemoryState memory;
  // What the last timed runs left, for each set of inputs and output: set 0's outputs, set 1's ...
  std::vector<std::string> candidate_outputs;
  std::vector<std::string> baseline_outputs;
};

struct TransferRates {
  double to_device_gb_per_s = 0;
  double to_host_gb_per_s = 0;
};

std::string encode(const GpuFacts& facts);
std::string encode(const ModuleRequest& request);
std::string encode(const InputsRequest& request);
// Several at a time: the GPU is asked once for all cases of a kernel.
std::string encode(const std::vector<RunRequest>& requests);
std::string encode(const std::vector<RunReply>& replies);
std::string encode(const TimeRequest& request);
std::string encode(const TimeReply& reply);
std::string encode(const TransferRates& rates);
Result<GpuFacts> decode_facts(std::string_view bytes);
Result<ModuleRequest> decode_module_request(std::string_view bytes);
Result<InputsRequest> decode_inputs_request(std::string_view bytes);
Result<std::vector<RunRequest>> decode_run_requests(std::string_view bytes);
Result<std::vector<RunReply>> decode_run_replies(std::string_view bytes);
Result<TimeRequest> decode_time_request(std::string_view bytes);
Result<TimeReply> decode_time_reply(std::string_view bytes);
Result<TransferRates> decode_transfer_rates(std::string_view bytes);

}  // namespace kw
