#pragma once
// The worker's side of the GPU: one context, resident inputs, loaded modules, and an arena in which outputs and scratch
// get a new place for every run, poisoned, between red zones.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernel/counters/cupti_profiler.h"
#include "kernel/gpu/driver.h"
#include "kernel/gpu/message.h"

namespace kw {

// NaN in every floating-point type, and no likely result in any other.
inline constexpr std::uint32_t poison_word = 0x7ff1fff1;

class DeviceTimer;

class DeviceSession {
 public:
  static Result<std::unique_ptr<DeviceSession>> open();
  ~DeviceSession() = default;  // the process ends with it; nothing is given back one by one

  const GpuFacts& facts() const { return facts_; }

  Result<void> load_module(const ModuleRequest& request);
  Result<void> load_inputs(const InputsRequest& request, int file);
  void forget_inputs(std::uint64_t id);
  // One after the other, without waiting in between: every run has a place of its own.
  Result<std::vector<RunReply>> run(const std::vector<RunRequest>& requests);
  // The steps alone, without any of our own device code beside them: for tools that look at every launch.
  Result<void> run_bare(const RunRequest& request);
  // Memory for the runs, filled; then the runs, which want the device for themselves.
  Result<void> lay_out_timing(const TimeRequest& request);
  Result<TimeReply> time();
  void drop_timing() { timer_.reset(); }
  // Counters of the hardware for each launch of the plan. The plan is run several times.
  Result<CounterReport> profile(const RunRequest& request);
  Result<TransferRates> transfer_rates();

  // Whether the driver does everything: memory, a module that it compiles itself, a launch, an event. Parts of it are
  // loaded at their first use, so do this before files are taken from it.
  Result<void> try_out();

  // Of the last error.
  GpuOutcome outcome() const { return outcome_; }

 private:
  friend class DeviceTimer;

  struct Variable {
    CUdeviceptr address = 0;
    std::uint64_t bytes = 0;
  };
  struct Module {
    CUmodule module = nullptr;
    std::vector<CUfunction> kernels;
    std::vector<Variable> variables;
    CUdeviceptr initial = 0;        // what they held when the module was loaded, one after the other
    std::uint64_t local_bytes = 0;  // of local memory, for a thread of the kernel that has most
  };
  struct Inputs {
    CUdeviceptr base = 0;
    std::uint64_t bytes = 0;  // of all of it, red zones included
    std::vector<CUdeviceptr> tensors;
    std::vector<std::uint64_t> tensor_bytes;
    std::uint64_t checksum = 0;
  };
  struct RedZone {
    CUdeviceptr start = 0;
    std::uint64_t bytes = 0;
    std::int64_t buffer = 0;  // the one before it
  };
  // Where a plan's buffers lie.
  struct Placement {
    std::vector<CUdeviceptr> addresses;
    std::vector<RedZone> zones;
    CUdeviceptr start = 0;
    std::uint64_t bytes = 0;
  };

  explicit DeviceSession(const Driver& driver) : cuda_(driver) {}
  Result<void> start();
  Result<void> load_helpers();
  Error failed(CUresult result, const char* what);
  Error refused(std::string why);

  Result<const Module*> module_at(std::uint64_t slot);
  Result<const Inputs*> inputs_at(std::uint64_t id);
  Result<void> grow_arena(std::uint64_t bytes);
  static std::uint64_t placement_bytes(const GpuPlan& plan, std::uint64_t shift);
  // In a region of the arena; `tensors` are the addresses of the inputs. All of the region that is no buffer is red
  // zone.
  Result<Placement> place(const GpuPlan& plan, const std::vector<CUdeviceptr>& tensors,
                          const std::vector<std::uint64_t>& tensor_bytes, std::uint64_t offset,
                          std::uint64_t region_bytes, std::uint64_t shift);
  Result<void> poison(const Placement& placement);
  Result<void> enqueue(const Module& module, const GpuPlan& plan, const Placement& placement);
  // Between two runs: nothing of the first may be of use to the second. Counts changed words of variables.
  Result<void> enqueue_forgetting(const Module& module, std::size_t counter);
  // The same before a timed run: variables are as they were when the module was loaded, so that not even the fact that
  // they had been changed is left.
  Result<void> enqueue_restoring(const Module& module);
  Result<void> enqueue_scrub();
  Result<void> prepare_local_scrub(Module& module);
  Result<void> enqueue_local_scrub(const Module& module);
  Result<void> draw_input(const InputLayout& layout, const char* table, CUdeviceptr to);
  Result<void> find_variables(const std::string& image, Module& module);
  Result<void> enqueue_launch(const Module& module, const GpuLaunch& launch, const Placement& placement);
  Result<void> enqueue_helper(std::size_t kernel, unsigned blocks, unsigned threads, void** arguments);
  // Adds to a counter of the session; see read_counters.
  Result<void> enqueue_checksum(CUdeviceptr start, std::uint64_t bytes, std::size_t counter);
  Result<void> enqueue_zone_check(const RedZone& zone, std::size_t counter);
  Result<void> clear_counters(std::size_t count);
  Result<std::vector<std::uint64_t>> read_counters(std::size_t count);
  // After a run: what it did to memory, in counters from `first` on; it also makes the module forget.
  Result<std::size_t> enqueue_memory_checks(const std::vector<const Placement*>& placements, const Inputs& inputs,
                                            const Module& module, std::size_t first);
  static MemoryState memory_state(const std::vector<const Placement*>& placements, const Inputs& inputs,
                                  const std::vector<std::uint64_t>& counters, std::size_t first);
  struct Collected {
    const GpuPlan* plan = nullptr;
    const Placement* placement = nullptr;
    const std::vector<OutputSample>* samples = nullptr;
  };
  Result<std::vector<std::vector<std::string>>> read_outputs(const std::vector<Collected>& from);
  // Outputs and samples of them are collected on the device and read at once.
  Result<void> enqueue_collect(CUdeviceptr address, std::uint64_t bytes, const OutputSample& sample, CUdeviceptr to);
  Result<void> grow_gather(std::uint64_t bytes);
  Result<void> want_events(std::size_t count);
  Result<void> synchronize();

  const Driver& cuda_;
  GpuFacts facts_;
  GpuOutcome outcome_ = GpuOutcome::done;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::vector<CUevent> events_;  // two for each run that is enqueued
  Module helpers_;
  std::map<std::uint64_t, Module> modules_;
  std::map<std::uint64_t, Inputs> inputs_;
  CUdeviceptr counters_ = 0;
  std::chrono::steady_clock::time_point last_timing_{};  // when it ended
  std::shared_ptr<DeviceTimer> timer_;                   // of what is laid out
  std::uint64_t noise_ = 0;                              // seed of the next spoiling
  int shared_bytes_ = 0;                                 // that a block can ask for
  int resident_threads_ = 0;                             // of a multiprocessor
  std::map<std::uint64_t, CUfunction> local_scrubs_;     // by the bytes of a thread
  CUdeviceptr arena_ = 0;
  std::uint64_t arena_bytes_ = 0;
  CUdeviceptr gather_ = 0;  // offsets and gathered bytes
  std::uint64_t gather_bytes_ = 0;
  std::unique_ptr<CuptiProfiler> profiler_;  // made at its first use
};

// The slot of our own device code (helper_kernels.h), loaded first.
inline constexpr std::uint64_t helper_slot = 0;

}  // namespace kw
