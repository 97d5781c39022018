#pragma once
// The judge's answer about one kernel. Its JSON form is documented in docs/verdict.md and stable: keys are added, never
// changed.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/severity.h"
#include "base/statistics.h"
#include "kernel/counters/counters.h"
#include "kernel/judge/case_book.h"
#include "kernel/performance/performance.h"
#include "kernel/source/risk.h"

namespace kw {

enum class VerdictStatus : std::uint8_t {
  correct,
  wrong,  // ran to the end with a wrong answer
  compile_error,
  rejected,        // contains what a kernel must not contain
  fault,           // out of bounds, misaligned, uninitialised, barrier misuse: what a sanitizer calls an error
  race,            // the result depends on the order in which threads or blocks run
  timeout,         // endless, deadlocked, or far too slow; or the compiler ran into its limits
  unsupported,     // needs what this backend cannot execute: says nothing about the kernel
  launcher_error,  // no launcher, a wrong signature, or a launch that would fail
  internal_error,  // our fault or the machine's: the kernel is not judged
};
std::string_view to_string(VerdictStatus status);
std::optional<VerdictStatus> verdict_status_from_string(std::string_view text);

struct CaseVerdict {
  Sizes sizes;
  bool hidden = false;
  std::uint64_t seed = 0;
  InputKind inputs = InputKind::ordinary;
  std::string output;    // the worst one, where there are several
  double max_error = 0;  // absolute, of the element that is furthest beyond what is allowed
  double tolerance = 0;  // what is allowed there
  bool ok = false;
};

struct VerdictFinding {
  std::string kind;  // "out_of_bounds", "shared_race", "compile", "device-printf" ...
  Severity severity = Severity::error;
  int line = 0;  // 0: unknown
  int column = 0;
  std::string message;
  std::string advice;
  std::string kernel;
  std::uint64_t occurrences = 1;
};

struct KernelUse {
  std::string kernel;
  int registers = 0;
  int spill_bytes = 0;
  int stack_bytes = 0;
  std::int64_t shared_bytes = 0;  // static and dynamic
  std::string grid;               // at the first timed size
  std::string block;
  double occupancy = 0;  // 0 to 1
  std::string occupancy_limiter;
};

// The time at one of the task's train sizes.
struct SizedTime {
  Sizes sizes;
  double time_us = 0;
  Interval interval_us;
  std::optional<double> naive_us;
  std::string limiter;
  // Measured times only.
  std::optional<Interval> speedup_interval;  // of naive / time, in which another measurement lies too
  std::optional<double> pytorch_us;          // eager
  double transfer_us = 0;                    // inputs to the device and outputs back: not part of the time
  int rounds = 0;
  // Not timed in turns with the kernel: these intervals are wider for that.
  std::optional<Interval> pytorch_interval_us{};
  std::optional<double> pytorch_tf32_us{};  // eager, products of float32 rounded to TF32; where inputs are float32
  std::optional<Interval> pytorch_tf32_interval_us{};
  // What the device allows: the least that has to be moved, or multiplied, at its rates on paper. 0: not known.
  double limit_us = 0;
  std::string limit{};  // in words
};

// The machine during a measurement.
struct MeasuredOn {
  std::string device;
  int driver_version = 0;
  int sm_clock_mhz = 0;  // 0: not known; likewise the next three
  int memory_clock_mhz = 0;
  int temperature_c = 0;
  std::string throttled;  // why the clocks are lower than they could be; empty: they are not
  std::string worker{};   // what the worker process could not do
};

// What the judgement has cost, in units of about a nanosecond (base/work_budget.h).
struct VerdictWork {
  std::uint64_t units = 0;
  std::uint64_t allowed_units = 0;
  std::uint64_t memory_bytes = 0;  // the most that was held at a time
  std::uint64_t allowed_memory_bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> by_kind;  // units
};

// How the values at one of the train sizes were checked, without a GPU.
struct FullSizeAudit {
  Sizes sizes;
  std::string method;            // in words
  std::uint64_t blocks = 0;      // of all launches
  std::uint64_t blocks_run = 0;  // to their end, on real inputs
  std::uint64_t elements = 0;    // of all outputs
  std::uint64_t compared = 0;    // with the reference
  std::uint64_t warp_instructions = 0;
  std::vector<std::string> assumed;  // what was taken on trust, or could not be done
  std::string inputs = "ordinary";   // or a mix of unusual ones, see unusual_inputs.h
};

struct Verdict {
  std::string task;
  std::string kernel_file;
  VerdictStatus status = VerdictStatus::internal_error;
  bool compiled = false;
  bool correct = false;
  std::string backend = "emulator";
  std::string profile;
  std::string summary;  // one sentence
  std::vector<CaseVerdict> cases;
  std::vector<VerdictFinding> findings;  // what is wrong: none when it is correct
  std::vector<VerdictFinding> hints;     // warnings and notes: what could be better
  std::vector<KernelUse> resources;

  std::optional<double> time_us;  // geometric mean over the train sizes
  std::string time_source;        // "measured" or "modelled"; empty: no time
  std::optional<Interval> time_interval_us;
  std::optional<double> speedup_naive;
  std::optional<double> speedup_pytorch;
  std::optional<Interval> speedup_interval;  // of speedup_naive
  std::optional<Interval> speedup_pytorch_interval;
  std::optional<double> speedup_pytorch_tf32;
  std::optional<double> share_of_limit;  // of what the device allows, see SizedTime::limit_us
  bool faster_than_naive = false;        // the interval excludes 1: what a speedup is claimed with
  std::optional<MeasuredOn> measured_on;
  std::vector<SizedTime> times;
  std::string limiter;
  std::vector<TimeTerm> terms;  // at the first train size
  std::vector<HotLine> hot_lines;
  std::vector<KernelCounters> counters;  // of the hardware, at the first train size; each launch
  std::string measured_limiter;          // by them

  std::string full_size;  // "checked" or "unchecked": were values compared where it is timed? Empty: not reached
  std::vector<FullSizeAudit> audit;  // at each train size

  Risk risk;
  std::vector<std::string> flags;  // "keeps_state", "reduced_precision" ...
  std::string feedback;            // what an agent is told
  std::string fingerprint;
  std::string ptx_fingerprint;
  double compile_ms = 0;
  double judge_ms = 0;                                    // all of it
  std::vector<std::pair<std::string, double>> stages_ms;  // where it went
  VerdictWork work;
  bool from_cache = false;
  bool may_differ = false;  // it depends on how busy the machine was: not for the cache
};

// Into findings or hints, by its severity.
void add_finding(Verdict& verdict, VerdictFinding finding);

nlohmann::ordered_json to_json(const Verdict& verdict);
// Of a verdict that was written by to_json; an error when it is not one.
Result<Verdict> verdict_from_json(const nlohmann::ordered_json& json);

}  // namespace kw
