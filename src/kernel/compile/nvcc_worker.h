#pragma once
// The process in which nvcc runs: this program started again, in namespaces of its own, with a hidden first argument.
// It takes one request over its socket, gives up the machine's files, and starts nvcc there.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/transfer.h"

namespace kw {

inline constexpr const char* nvcc_worker_argument = "--nvcc-worker";

struct NvccRequest {
  std::string nvcc;          // the program's real path
  std::string architecture;  // "90a"
  std::string text;
  std::uint64_t wall_s = 0, memory_bytes = 0, scratch_bytes = 0;
};

struct NvccAnswer {
  std::string refused;  // why nothing was tried; empty: it was
  std::string problem;  // why there is no result: a limit, a signal
  bool succeeded = false;
  std::string log;  // standard error and output
  std::string ptx, cubin;
};

// Both sides; false when the other one has gone, is late or breaks the bounds.
bool send_request(int socket, const NvccRequest& request, Deadline deadline);
bool receive_answer(int socket, NvccAnswer& answer, Deadline deadline);

// Every program that compiles whole programs calls this first in main() and ends with the value, if there is one.
std::optional<int> run_if_nvcc_worker(int argc, char** argv);

}  // namespace kw
