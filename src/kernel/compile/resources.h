#pragma once
// What a kernel needs on the device, as ptxas says in NVRTC's log.

#include <string>
#include <string_view>
#include <vector>

namespace kw {

struct KernelResources {
  int registers = 0;  // for each thread
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int stack_bytes = 0;
  int static_shared_bytes = 0;
  int constant_bytes = 0;  // __constant__ variables of the module; the parameters are not counted
  int barriers = 0;
  int max_threads = 0;  // __launch_bounds__; 0: none given
  bool known = false;   // false when only PTX was made
  friend bool operator==(const KernelResources&, const KernelResources&) = default;
};

struct EntryResources {
  std::string symbol;
  KernelResources resources;
};

// From the log, launch bounds from the PTX, constants from the cubin. Any of them may be empty; all may be hostile.
std::vector<EntryResources> parse_resources(std::string_view log, std::string_view ptx, std::string_view cubin);

}  // namespace kw
