#pragma once
// What the compile pool and its workers say to each other over a socket: frames of a fixed head and a bounded body.
// Nothing that a compiler process wrote is trusted: it is decoded with bounds, and the pool judges it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/transfer.h"
#include "kernel/compile/compilation.h"

namespace kw {

// One job for the compiler, already canonical; everything in it is part of the cache key except the limits.
struct CompilerJob {
  std::string source;
  std::vector<std::string> options;
  std::vector<std::string> name_expressions;
};
std::string encode(const CompilerJob& job);
Result<CompilerJob> decode_job(std::string_view bytes);

// What the compiler made of it, as it said so.
struct CompilerOutput {
  std::uint64_t nvrtc_result = 0;
  std::string log;
  std::string ptx;
  std::string cubin;
  std::vector<std::string> lowered_names;  // one for each name expression, empty where there is none
  std::uint64_t compile_us = 0;
  std::string ptx_fingerprint;  // added by the pool's side, not by the compiler process
};
std::string encode(const CompilerOutput& output);
Result<CompilerOutput> decode_output(std::string_view bytes);

enum class WorkerOutcome : std::uint32_t {
  finished,     // the body is an encoded CompilerOutput
  over_time,    // killed at the wall-clock deadline or by the CPU limit
  over_memory,  // crashed after the kernel had refused it memory, or was killed by the kernel
  over_output,  // killed because it wrote more than it may
  died,         // by `signal`, or by leaving with an exit code
  not_started,  // the worker could not fork
  ready,        // the greeting: the worker has warmed up and is in its sandbox; the body is a WorkerGreeting
  failed,       // the greeting of a worker that cannot work; the body is the reason
};

struct RequestHead {
  std::uint32_t magic = 0;
  std::uint32_t wall_ms = 0;
  std::uint64_t cpu_seconds = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t body_bytes = 0;
};

struct ReplyHead {
  std::uint32_t magic = 0;
  WorkerOutcome outcome = WorkerOutcome::died;
  std::int32_t signal = 0;
  std::int32_t exit_code = 0;
  std::uint64_t peak_bytes = 0;  // resident, as the kernel counted it
  std::uint64_t cpu_us = 0;
  std::uint64_t body_bytes = 0;
};

struct WorkerGreeting {
  std::string compiler_version;
  std::uint64_t header_fingerprint = 0;
  std::uint64_t protection_bits = 0;
};
std::string encode(const WorkerGreeting& greeting);
Result<WorkerGreeting> decode_greeting(std::string_view bytes);

inline constexpr std::uint32_t request_magic = 0x4b575251;
// Sent before the work begins: a worker that dies without it never looked at the request.
inline constexpr std::uint32_t accepted_magic = 0x4b574143;
inline constexpr std::uint32_t reply_magic = 0x4b575250;
inline constexpr std::uint64_t request_limit_bytes = 64u << 20;

}  // namespace kw
