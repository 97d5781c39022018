#pragma once
// Independent pieces of work, of milliseconds or more, on several threads.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace kw {

inline int core_count() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

// body(i) once for each i of [0, count), begun in that order, on at most `threads` threads of which the caller's is
// one; returns when all are done. A body that a person's Ctrl-C should skip asks interrupted() first.
template <class Body>
void parallel_for(std::size_t count, int threads, const Body& body) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(count, static_cast<std::size_t>(std::max(threads, 1))); ++i)
    others.emplace_back(work);
  work();
}

}  // namespace kw
