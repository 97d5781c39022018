#pragma once
// Lists of allowed system calls, made into a seccomp program ahead of time, so that installing it in a fresh child
// costs one system call.

#include <linux/filter.h>

#include <vector>

#include "base/result.h"

namespace kw {

enum class FilterRole {
  compiler,  // one compilation: memory, clocks, writing to what is open; nothing else
  service,   // starts and stops compilers: also fork, wait, kill, pipes, limits, and installing the filter above
  device,    // a loaded GPU driver: everything but what only an intruder asks for
  programs,  // the same, for a process in a private root that starts the programs there
  // libtorch, which writes machine code for itself (oneDNN's products), and the process that starts and stops such ones
  reference,
  reference_service,
};

class SyscallFilter {
 public:
  static Result<SyscallFilter> make(FilterRole role);

  // For this thread and all others of the process; needs no_new_privs. There is no way back.
  Result<void> install() const;

 private:
  static Result<SyscallFilter> make_for_device(bool starts_programs);

  std::vector<sock_filter> program_;
};

}  // namespace kw
