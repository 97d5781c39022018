#pragma once

#include <algorithm>
#include <thread>

namespace kw {

inline int cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

// 0: one for each core.
inline int workers_or_cores(int workers) { return workers > 0 ? workers : cores(); }

}  // namespace kw
