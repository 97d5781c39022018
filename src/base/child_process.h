#pragma once
// Runs another program with limits and a deadline. For trusted tools (nvcc, nvidia-smi): this bounds what they use, it
// does not confine what they may touch; untrusted work goes through sandbox/.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

struct ChildLimits {
  std::chrono::milliseconds wall{60000};
  std::optional<std::chrono::seconds> cpu;
  std::optional<std::size_t> memory_bytes;  // address space
  std::size_t output_bytes = 16u << 20;  // of standard output and of standard error each; the child is killed beyond it
};

struct ChildCommand {
  std::vector<std::string> arguments;          // arguments[0] is the program, looked up in PATH
  std::string input;                           // its standard input
  std::string folder;                          // working folder; empty: ours
  std::vector<std::string> extra_environment;  // NAME=value, added to ours
};

enum class ChildEnd { exited, signalled, deadline, output_limit };

struct ChildOutcome {
  ChildEnd end = ChildEnd::exited;
  int exit_code = 0;      // when exited
  int signal_number = 0;  // when signalled
  std::string output;
  std::string error_output;
  double wall_s = 0;
  double cpu_s = 0;
  std::size_t peak_memory_bytes = 0;

  bool succeeded() const { return end == ChildEnd::exited && exit_code == 0; }
};

// An error only when the program could not be started. The child runs in a process group of its own, which is killed as
// a whole.
Result<ChildOutcome> run_child(const ChildCommand& command, const ChildLimits& limits = {});

}  // namespace kw
