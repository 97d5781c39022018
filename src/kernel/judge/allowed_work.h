#pragma once
// How much work a kernel may do in a case, in warp instructions. The task decides, by its sizes and its naive kernel:
// never the kernel that is judged, and never which of the hidden sizes it happened to get.

#include <cstdint>
#include <optional>

#include "kernel/judge/case_book.h"
#include "kernel/task/task.h"

namespace kw {

struct AllowedWork {
  std::int64_t warp_instructions = 0;
  bool left_out = false;     // the case is not worth its time: nobody is judged by it
  bool may_give_up = false;  // running out of it says nothing about the kernel; the case is then left out
  // The same, but the case cannot be left out: the sizes ask for more than can be emulated, and there is no naive
  // kernel to tell what is too much.
  bool beyond_us = false;
};

// `naive`: the naive kernel's warp instructions for this case, where there is one. `waits`: its blocks wait for each
// other, which uses up instructions.
AllowedWork allowed_work(const Task& task, const Case& one, std::optional<std::uint64_t> naive, bool waits);

}  // namespace kw
