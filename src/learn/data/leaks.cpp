#include "learn/data/leaks.h"

#include <fmt/format.h>

#include <map>

#include "kernel/task/task_file.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_leaks_kept = 20;

std::string text_at(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::uint64_t> number_at(const Json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

class LeakCheck {
 public:
  LeakCheck(const LeakOptions& options, std::vector<Family> families)
      : options_(options), families_(std::move(families)) {
    report_.kernels_known = options.held_out_code.size();
  }

  void line(const Json& line, const std::string& where) {
    ++report_.examples;
    where_ = where;
    const auto seed = number_at(line, "seed"), index = number_at(line, "index");
    if (!line.is_object() || !seed || !index) return leak("no provenance");
    if (text_at(line, "split") != name_of(DataSplit::train)) return leak("split is " + text_at(line, "split"));
    const std::string structure = text_at(line, "structure");
    structures_.insert(structure);
    const auto split = split_of_structure(structure);
    if (!split) return leak("no structure");
    if (*split != DataSplit::train) leak(fmt::format("structure {} is of the split {}", structure, name_of(*split)));
    if (held_out(*seed).count(structure) > 0) leak("structure " + structure + " is held out");
    if (options_.held_out_code.count(text_at(line, "ptx_fingerprint")) > 0)
      leak("code of a held-out task of the suite");
    const auto task = line.find("task");
    if (task == line.end()) return leak("no task");
    // A task has several lines; it is looked at once.
    if (seen_task_ == std::pair(*seed, *index)) return;
    seen_task_ = {*seed, *index};
    check_task(*seed, *index, structure, *task);
  }

  LeakReport finish() {
    report_.structures = structures_.size();
    return std::move(report_);
  }

 private:
  void leak(const std::string& what) {
    ++report_.leaks_found;
    if (report_.leaks.size() < most_leaks_kept) report_.leaks.push_back(where_ + ": " + what);
  }

  void check_task(std::uint64_t seed, std::uint64_t index, const std::string& structure, const Json& json) {
    ++report_.tasks;
    const auto task = parse_task(json.dump(-1, ' ', false, Json::error_handler_t::replace), where_);
    if (!task.ok()) return leak("task cannot be read: " + task.error().message);
    if (task->split != Split::train) leak("the task is held out");
    for (const auto* list : {&task->sizes_small, &task->sizes_train})
      for (const Sizes& sizes : *list)
        for (const auto& [name, value] : sizes)
          if (value % held_out_factor == 0) leak(fmt::format("size {}={} is held out", name, value));
    const DrawnTask drawn = stream_of(seed).task_at(index);
    if (drawn.task.pytorch != task->pytorch || drawn.structure != structure) ++report_.tasks_not_drawn;
  }

  const ExampleStream& stream_of(std::uint64_t seed) {
    auto found = streams_.find(seed);
    if (found == streams_.end()) {
      StreamOptions options;
      options.seed = seed;
      options.families = families_;
      found = streams_.emplace(seed, ExampleStream(options)).first;
    }
    return found->second;
  }

  const std::set<std::string>& held_out(std::uint64_t seed) {
    auto [found, made] = held_out_.try_emplace(seed);
    if (!made) return found->second;
    for (const DataSplit split : {DataSplit::composition, DataSplit::novel}) {
      // The store's own seed, and another that nobody chose for it.
      for (const std::uint64_t each : {seed, seed + 0x5eed}) {
        StreamOptions options;
        options.seed = each;
        options.split = split;
        const ExampleStream stream(options);
        for (std::uint64_t i = 0; i < options_.held_out_tasks / 2; ++i)
          found->second.insert(stream.task_at(i).structure);
        report_.held_out_tasks += options_.held_out_tasks / 2;
      }
    }
    return found->second;
  }

  const LeakOptions& options_;
  const std::vector<Family> families_;  // of the store's stream; empty: all
  LeakReport report_;
  std::string where_;
  std::set<std::string> structures_;
  std::pair<std::uint64_t, std::uint64_t> seen_task_{~std::uint64_t{0}, 0};
  std::map<std::uint64_t, ExampleStream> streams_;
  std::map<std::uint64_t, std::set<std::string>> held_out_;
};

}  // namespace

Result<LeakReport> check_leaks(const std::filesystem::path& folder, const LeakOptions& options) {
  KW_TRY(const std::vector<Shard> shards, open_store(folder));
  if (shards.empty())
    return Error{"no finished shard here", "make one with kernelwright data make", {folder.string(), 0, 0}};
  KW_TRY(const StreamOptions stream, store_stream(folder));
  if (stream.split != DataSplit::train)
    return Error{fmt::format("this store is of the split {}", name_of(stream.split)),
                 "only stores for training are checked for leaks",
                 {folder.string(), 0, 0}};
  LeakCheck check(options, stream.families);
  for (const Shard& shard : shards) {
    KW_TRY(const std::vector<Json> lines, read_shard(shard));
    const std::string name = shard.file.filename().string();
    for (std::size_t i = 0; i < lines.size(); ++i) check.line(lines[i], fmt::format("{}:{}", name, i + 1));
  }
  return check.finish();
}

}  // namespace kw
