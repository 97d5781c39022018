#pragma once
// A kernel that owns its process, for tests of what the process may do: on hardware a kernel can only get there through
// a wild pointer, here it is asked for by name.

#include <string>
#include <string_view>
#include <vector>

namespace kw::emulated_driver {

// A kernel of this name, with the parameters (orders, bytes of them, results), is not emulated: its orders are carried
// out by this process, and for each the result is 0 or the error number, as a 32-bit integer.
inline constexpr std::string_view intruder_kernel = "kernelwright_intruder";

// One order a line: "read PATH", "list PATH", "write PATH" (makes a file), "connect PORT" (on this machine), "run
// PROGRAM", "signal PID".
std::vector<int> carry_out(const std::string& orders);

}  // namespace kw::emulated_driver
