#pragma once
// What a loaded NVIDIA driver still opens while it works.

#include <string>
#include <vector>

namespace kw {

// Its device files; its libraries, because some are loaded at their first use (the compiler of PTX); what the C library
// and the driver ask about processors and memory. For a process in which the driver is loaded; paths need not exist.
std::vector<std::string> driver_files();

}  // namespace kw
