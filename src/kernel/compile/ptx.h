#pragma once
// Reading PTX text without parsing it: entry points, line information, and what is the same in two of them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/compile/canonical.h"

namespace kw {

struct PtxEntry {
  std::string symbol;
  int max_threads = 0;  // product of .maxntid, 0 when there is none
};

// The kernels of a module, in order.
std::vector<PtxEntry> ptx_entries(std::string_view ptx);

// Every `.loc file line column` that speaks of the compiled file gets the user's line and column; those that the user's
// file does not have are dropped.
std::string with_user_positions(std::string_view ptx, const LineMap& lines, std::string_view compiled_name,
                                std::string_view user_name);

// The user's position of the instruction on a line (from 1) of the PTX; {0, 0} when unknown.
UserPosition position_of_ptx_line(std::string_view ptx, std::uint64_t ptx_line, const LineMap& lines);

// 64 hexadecimal digits, equal for PTX that differs only in comments, line information, white space, and the names of
// functions, parameters and variables.
std::string ptx_fingerprint(std::string_view ptx);

}  // namespace kw
