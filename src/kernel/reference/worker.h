#pragma once
// The reference worker: this program started again with a hidden first argument. It loads libtorch, tries out the
// products that references are made of, and enters the sandbox. Then it forks a process for every task (see
// session.h): no text can influence another's answers, each process has its own limits, and one that dies costs only
// itself. For a GPU it serves all tasks itself, because a process that has opened the device cannot be forked.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace kw {

inline constexpr const char* reference_worker_argument = "--reference-worker";

// Every program that uses references calls this first in main() and ends with the value, if there is one.
std::optional<int> run_if_reference_worker(int argc, char** argv);

// What a worker says first: that it is ready, or why not.
struct ReferenceGreeting {
  std::string failure;  // empty: it is ready
  std::string torch_version;
  std::uint64_t protection_bits = 0;
  std::uint64_t resident_bytes = 0;
};
std::string encode(const ReferenceGreeting& greeting);
Result<ReferenceGreeting> decode_reference_greeting(std::string_view bytes);

// Then it is told to start and end processes. A start brings the process's end of a socket along.
struct ReferenceOrder {
  std::uint64_t magic = 0;
  std::uint64_t start = 0;  // 1: start one, 0: end `process`
  std::int64_t process = 0;
  std::uint64_t memory_bytes = 0;  // that a new one may take
};
struct ReferenceOrderDone {
  std::uint64_t magic = 0;
  std::int64_t process = 0;      // -1: it could not be started
  std::int64_t wait_status = 0;  // of one that ended, as wait() gives it
  std::uint64_t cpu_us = 0;      // likewise
};

}  // namespace kw
