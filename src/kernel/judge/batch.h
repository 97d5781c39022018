#pragma once
// Many kernels at once: a file of jobs in, a file of verdicts out, one JSON object a line. Stopped at any moment, it
// goes on where it was: what stands in the output file is not judged again.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "kernel/judge/judge.h"

namespace kw {

struct BatchOptions {
  std::filesystem::path
      jobs;  // lines: {"id": "...", "task": "softmax", "kernel": "CUDA text"} or "kernel_file": "path"
  std::filesystem::path out;
  int workers = 1;
  bool show_progress = true;
};

struct BatchSummary {
  std::uint64_t jobs = 0;
  std::uint64_t already_done = 0;
  std::uint64_t judged = 0;
  std::uint64_t from_cache = 0;
  std::map<std::string, std::uint64_t> by_status;
  double seconds = 0;
  bool interrupted = false;
};

// An error when a file cannot be read or written, or a line is no job (with its number); nothing is judged then.
Result<BatchSummary> judge_batch(Judge& judge, const std::filesystem::path& suite, const BatchOptions& options);

}  // namespace kw
