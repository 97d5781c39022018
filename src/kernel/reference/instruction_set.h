#pragma once
// Which of the CPU's instructions libtorch may use. A CPU may announce instructions that its system traps (AMX in some
// virtual machines): libtorch then dies of SIGILL, or says that it "could not create a primitive". So what works is
// tried out in a process of its own, and every process that loads libtorch keeps to it.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw {

struct InstructionSet {
  std::string name;
  // What libtorch and the libraries in it read from the environment.
  std::vector<std::pair<std::string, std::string>> environment;
};

// From everything that the CPU announces down to what every 64-bit CPU has. A number below is an index into it.
const std::vector<InstructionSet>& instruction_sets();

// Read by the libraries that hold libtorch: "0" turns oneDNN off, which no variable of torch's own does.
inline constexpr const char* onednn_variable = "KERNELWRIGHT_ONEDNN";
bool onednn_is_allowed();

// The set that was found to work on this CPU earlier, by any process of this user.
std::optional<std::size_t> remembered_instruction_set();
void remember_instruction_set(std::size_t number);

// Sets this process's environment, for whoever loads libtorch into it; to be called before. Finds out what works when
// nothing is remembered; programs that call it first call run_if_reference_worker() in main().
Result<void> apply_instruction_set();

}  // namespace kw
