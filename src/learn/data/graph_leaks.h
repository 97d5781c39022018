#pragma once
// Whether what is drawn for training holds anything of KernelBench, told by graphs (agents/draw/signature.h): a problem
// of several operations must not occur at all, one operation alone not at the problem's own sizes.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agents/draw/draw_program.h"
#include "base/result.h"
#include "kernel/task/task.h"

namespace kw {

struct HeldProblems {
  std::map<std::uint64_t, std::string> several;  // signature and name of a problem of several operations
  // Of single operations: the shapes of their inputs at one size, as text, and the name.
  std::map<std::uint64_t, std::map<std::string, std::string>> single;
  std::uint64_t problems = 0;
  std::vector<std::string> not_read;  // "kb1_99: why"

  // Why the task is one of these; empty: it is not.
  std::string leak_of(const Task& task, std::uint64_t signature) const;
};

// The tasks below a folder that `kernelwright kernelbench import` has made; of other tasks those that are held out.
Result<HeldProblems> read_held_problems(const std::filesystem::path& folder);

struct GraphLeakReport {
  std::uint64_t examples = 0, tasks = 0;
  std::uint64_t signatures = 0;    // different ones
  std::uint64_t not_read = 0;      // tasks without a graph: nothing can be said of them
  std::vector<std::string> leaks;  // the first of them
  std::uint64_t leaks_found = 0;
};

// Every task of a store.
Result<GraphLeakReport> check_store_graphs(const std::filesystem::path& folder, const HeldProblems& held);
// Programs first .. first + count - 1 of a stream. `progress` may be empty.
Result<GraphLeakReport> check_stream_graphs(const programs::DrawOptions& stream, std::uint64_t first,
                                            std::uint64_t count, const HeldProblems& held, int workers,
                                            const std::function<void()>& progress);

}  // namespace kw
