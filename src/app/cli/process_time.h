#pragma once
// What this program costs the machine, its worker processes included.

namespace kw::cli {

// User and system time, in seconds, of this process and all that descend from it and are still there or were waited
// for.
double process_tree_cpu_s();

}  // namespace kw::cli
