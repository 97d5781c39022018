#include "learn/data/graph_leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "agents/draw/signature.h"
#include "agents/program/python_text.h"
#include "agents/program/read_program.h"
#include "base/parallel_for.h"
#include "kernel/task/task_file.h"
#include "learn/data/store.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_leaks_kept = 20;

// The shapes of all inputs at these sizes: "[4, 8] [8]", sorted, because names and order do not count.
std::string shapes_of(const Task& task, const Sizes& sizes) {
  std::vector<std::string> all;
  for (const TensorSpec& input : task.inputs) {
    const auto shape = input.shape_at(sizes);
    all.push_back(shape.ok() ? fmt::format("[{}]", fmt::join(*shape, ", ")) : "[?]");
  }
  std::sort(all.begin(), all.end());
  return fmt::format("{}", fmt::join(all, " "));
}

// Calls and operators of the text. What only moves elements about is none: a product with a transposed operand is one
// operation.
int operations_of(const Task& task) {
  static const std::set<std::string_view> movement{"t",       "transpose", "permute", "contiguous", "view", "reshape",
                                                   "squeeze", "unsqueeze", "flatten", "expand",     "to",   "size"};
  const auto python = parse_python(task.pytorch);
  if (!python.ok()) return 2;  // not known: held out as a whole
  int count = 0;
  for (const PythonNode& node : python->nodes) {
    if (node.kind == PythonKind::call) {
      const PythonNode& callee = python->nodes[static_cast<std::size_t>(node.parts[0])];
      count += movement.contains(callee.text) ? 0 : 1;
    } else if (node.kind == PythonKind::binary || node.kind == PythonKind::compare || node.kind == PythonKind::invert) {
      ++count;
    }
  }
  return count;
}

void add_problem(HeldProblems& held, const Task& task) {
  ++held.problems;
  const auto graph = program::read_program(task);
  if (!graph.ok()) {
    held.not_read.push_back(task.name + ": " + graph.error().message);
    return;
  }
  const std::uint64_t signature = programs::signature_of(*graph);
  if (operations_of(task) > 1) {
    held.several.emplace(signature, task.name);
    return;
  }
  // The problem's own sizes; the small ones were found by the import.
  for (const Sizes& sizes : task.sizes_train) held.single[signature].emplace(shapes_of(task, sizes), task.name);
}

class GraphLeaks {
 public:
  explicit GraphLeaks(const HeldProblems& held) : held_(held) {}

  void look_at(const Task& task, std::uint64_t signature, const std::string& where) {
    const std::string leak = held_.leak_of(task, signature);
    std::lock_guard lock(mutex_);
    ++report_.tasks;
    signatures_.insert(signature);
    if (!leak.empty()) note(where + ": " + leak);
  }
  void not_read() {
    std::lock_guard lock(mutex_);
    ++report_.tasks;
    ++report_.not_read;
  }
  void example() { ++report_.examples; }

  GraphLeakReport finish() {
    report_.signatures = signatures_.size();
    std::sort(report_.leaks.begin(), report_.leaks.end());
    return std::move(report_);
  }

 private:
  void note(const std::string& leak) {
    ++report_.leaks_found;
    if (report_.leaks.size() < most_leaks_kept) report_.leaks.push_back(leak);
  }

  const HeldProblems& held_;
  std::mutex mutex_;
  GraphLeakReport report_;
  std::set<std::uint64_t> signatures_;
};

}  // namespace

std::string HeldProblems::leak_of(const Task& task, std::uint64_t signature) const {
  if (const auto found = several.find(signature); found != several.end())
    return fmt::format("the graph of {} is {}", task.name, found->second);
  const auto found = single.find(signature);
  if (found == single.end()) return "";
  for (const Sizes& sizes : task.all_sizes()) {
    const auto same = found->second.find(shapes_of(task, sizes));
    if (same != found->second.end())
      return fmt::format("{} is {} at its sizes {}", task.name, same->second, same->first);
  }
  return "";
}

Result<HeldProblems> read_held_problems(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  HeldProblems held;
  std::error_code problem;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem))
    if (at->path().filename() == "task.yaml") files.push_back(at->path());
  std::sort(files.begin(), files.end());
  if (files.empty())
    return Error{
        "no tasks below this folder", "make them with kernelwright kernelbench import", {folder.string(), 0, 0}};
  for (const fs::path& file : files) {
    const auto task = load_task(file.parent_path());
    if (!task.ok())
      held.not_read.push_back(file.string() + ": " + task.error().message);
    else if (task->family == "kernelbench" || task->split == Split::holdout)
      add_problem(held, *task);
  }
  return held;
}

Result<GraphLeakReport> check_store_graphs(const std::filesystem::path& folder, const HeldProblems& held) {
  KW_TRY(const std::vector<Shard> shards, open_store(folder));
  if (shards.empty())
    return Error{"no finished shard here", "make one with kernelwright data make", {folder.string(), 0, 0}};
  GraphLeaks leaks(held);
  std::set<std::string> seen;  // tasks have several lines
  for (const Shard& shard : shards) {
    KW_TRY(const std::vector<Json> lines, read_shard(shard));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      leaks.example();
      const auto json = lines[i].find("task");
      if (json == lines[i].end()) continue;
      const std::string text = json->dump(-1, ' ', false, Json::error_handler_t::replace);
      if (!seen.insert(text).second) continue;
      const std::string where = fmt::format("{}:{}", shard.file.filename().string(), i + 1);
      const auto task = parse_task(text, where);
      const auto graph = task.ok() ? program::read_program(*task) : Result<program::Graph>(task.error());
      if (graph.ok())
        leaks.look_at(*task, programs::signature_of(*graph), where);
      else
        leaks.not_read();
    }
  }
  return leaks.finish();
}

Result<GraphLeakReport> check_stream_graphs(const programs::DrawOptions& stream, std::uint64_t first,
                                            std::uint64_t count, const HeldProblems& held, int workers,
                                            const std::function<void()>& progress) {
  GraphLeaks leaks(held);
  parallel_for(count, workers, [&](std::size_t at) {
    const std::uint64_t index = first + at;
    const auto read = programs::read_drawn(stream, index);
    if (read.ok())
      leaks.look_at(read->drawn.task, read->signature, fmt::format("program {}", index));
    else
      leaks.not_read();
    if (progress) progress();
  });
  GraphLeakReport report = leaks.finish();
  report.examples = count;
  return report;
}

}  // namespace kw
