#include "learn/data/store.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <mutex>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"
#include "base/progress.h"
#include "kernel/task/task_file.h"
#include "learn/data/judged_task.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t shard_limit_bytes = std::size_t{2} << 30;

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::filesystem::path shard_path(const std::filesystem::path& folder, std::uint64_t number, const char* ending) {
  return folder / fmt::format("shard-{:05}.{}", number, ending);
}

// Lines of whole tasks, by task index.
using TaskLines = std::map<std::uint64_t, Json>;

// What a part file holds: {"index": 3, "examples": [...], "dropped": {...}} a line. A last line cut short is removed.
Result<TaskLines> read_part(const std::filesystem::path& path) {
  TaskLines found;
  if (!std::filesystem::exists(path)) return found;
  KW_TRY(const std::string text, read_file(path, shard_limit_bytes));
  std::size_t complete = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    Json json = Json::parse(std::string_view(text).substr(at, end - at), nullptr, false);
    if (json.is_discarded() || !json.contains("index")) break;
    const auto index = json["index"].get<std::uint64_t>();
    found[index] = std::move(json);
    at = complete = end + 1;
  }
  if (complete < text.size()) std::filesystem::resize_file(path, complete);
  return found;
}

class StoreMaker {
 public:
  StoreMaker(CompileService& service, const JudgeOptions& judge_options, const StoreOptions& options)
      : service_(service), judge_options_(judge_options), options_(options), stream_([&] {
          StreamOptions stream = options.stream;
          stream.naive_too = true;
          return stream;
        }()) {}

  Result<StoreSummary> run() {
    const auto start = std::chrono::steady_clock::now();
    std::error_code problem;
    std::filesystem::create_directories(options_.folder, problem);
    if (problem) return Error{"cannot make the folder: " + problem.message(), "", {options_.folder.string(), 0, 0}};
    KW_TRY_VOID(check_stream());
    KW_TRY(const std::vector<Shard> known, open_store(options_.folder));
    for (const Shard& shard : known) {
      KW_TRY(const auto lines, read_shard(shard));
      for (const Json& line : lines) seen_.insert(key_of(line));
    }
    KW_TRY(held_out_, held_out_code(service_, options_.suite));
    if (options_.show_progress) progress_.emplace("tasks", options_.tasks);
    const std::uint64_t shards = (options_.tasks + options_.shard_tasks - 1) / options_.shard_tasks;
    for (std::uint64_t shard = 0; shard < shards && !interrupted(); ++shard) {
      const std::uint64_t first = shard * options_.shard_tasks;
      const std::uint64_t count = std::min(options_.shard_tasks, options_.tasks - first);
      if (std::filesystem::exists(shard_path(options_.folder, shard, "json"))) {
        summary_.tasks_known += count;
        if (progress_) progress_->advance(count);
        continue;
      }
      KW_TRY_VOID(make_shard(shard, first, count));
    }
    if (progress_) progress_->finish();
    summary_.interrupted = interrupted();
    summary_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return summary_;
  }

 private:
  // A store is of one stream; going on with another seed would mix two.
  Result<void> check_stream() const {
    Json families = Json::array();
    for (const Family family : options_.stream.families) families.push_back(name_of(family));
    Json wanted{{"seed", options_.stream.seed},
                {"split", name_of(options_.stream.split)},
                {"families", families},
                {"shard_tasks", options_.shard_tasks},
                {"mutants", options_.mutants}};
    if (options_.formulas > 0) wanted["formulas"] = options_.formulas;
    const std::filesystem::path path = options_.folder / "store.json";
    if (!std::filesystem::exists(path)) return write_file_atomic(path, text_of(wanted) + "\n");
    KW_TRY(const std::string text, read_file(path));
    if (Json::parse(text, nullptr, false) != wanted)
      return Error{"the folder holds a store of another stream",
                   "give another folder, or the options it was made with",
                   {path.string(), 0, 0}};
    return {};
  }

  static std::string key_of(const Json& line) {
    return line.value("kind", "") + " " + line.value("fingerprint", "") + " " + line.value("target_fingerprint", "");
  }

  Result<void> make_shard(std::uint64_t number, std::uint64_t first, std::uint64_t count) {
    const std::filesystem::path part_path = shard_path(options_.folder, number, "part");
    KW_TRY(TaskLines done, read_part(part_path));
    summary_.tasks_known += done.size();
    if (progress_) progress_->advance(done.size());
    std::ofstream part(part_path, std::ios::app | std::ios::binary);
    if (!part) return Error{"cannot write", "", {part_path.string(), 0, 0}};
    // A judge keeps every task's cases; a new one for each shard keeps memory bounded.
    Judge judge(service_, judge_options_);
    std::mutex mutex;
    parallel_for(count, options_.workers, [&](std::size_t at) {
      if (interrupted()) return;
      {
        std::lock_guard lock(mutex);
        if (done.count(first + at) > 0) return;
      }
      Json made = judged_task_json(judge, stream_, first + at,
                                   {options_.mutants, options_.least_gain, options_.formulas, held_out_});
      std::lock_guard lock(mutex);
      part << text_of(made) << "\n" << std::flush;
      done[first + at] = std::move(made);
      ++summary_.tasks;
      if (progress_) progress_->advance(1);
    });
    if (!part) return Error{"writing failed; is the disk full?", "", {part_path.string(), 0, 0}};
    if (done.size() < count) return {};  // interrupted; the part file stays
    return finish_shard(number, first, count, done);
  }

  // In the order of tasks, whatever order they were judged in, so that a store is the same however often it was
  // stopped.
  Result<void> finish_shard(std::uint64_t number, std::uint64_t first, std::uint64_t count, const TaskLines& done) {
    std::string text;
    std::map<std::string, std::uint64_t> kept, dropped;
    std::uint64_t written = 0, right = 0;
    for (const auto& [index, task] : done) {
      written += task.value("written", std::uint64_t{0});
      right += task.value("right", std::uint64_t{0});
      for (const auto& [reason, times] : task.at("dropped").items()) dropped[reason] += times.get<std::uint64_t>();
      for (const Json& line : task.at("examples")) {
        if (!seen_.insert(key_of(line)).second) {
          ++dropped["duplicate"];
          continue;
        }
        const std::string kind = line.value("kind", "");
        ++kept[kind];
        if (kind == "generate") ++summary_.pairs[{line.value("writer", ""), line.value("level", "")}];
        text += text_of(line) + "\n";
      }
    }
    KW_TRY_VOID(write_file_atomic(shard_path(options_.folder, number, "jsonl"), text, Durability::power_loss));
    const Json description{{"shard", number},
                           {"first_task", first},
                           {"tasks", count},
                           {"bytes", text.size()},
                           {"sha256", sha256_hex(text)},
                           {"written", written},
                           {"right", right},
                           {"kept", kept},
                           {"dropped", dropped}};
    KW_TRY_VOID(write_file_atomic(shard_path(options_.folder, number, "json"), text_of(description) + "\n",
                                  Durability::power_loss));
    std::error_code ignored;
    std::filesystem::remove(shard_path(options_.folder, number, "part"), ignored);
    summary_.written += written;
    summary_.right += right;
    for (const auto& [kind, times] : kept) summary_.kept[kind] += times;
    for (const auto& [reason, times] : dropped) summary_.dropped[reason] += times;
    return {};
  }

  CompileService& service_;
  const JudgeOptions& judge_options_;
  const StoreOptions& options_;
  const ExampleStream stream_;
  std::set<std::string> seen_, held_out_;
  StoreSummary summary_;
  std::optional<Progress> progress_;
};

}  // namespace

std::optional<std::uint64_t> preset_tasks(std::string_view preset) {
  if (preset == "tiny") return 240;
  if (preset == "full") return 3600;
  return std::nullopt;
}

Result<StoreSummary> make_store(CompileService& service, const JudgeOptions& judge_options,
                                const StoreOptions& options) {
  return StoreMaker(service, judge_options, options).run();
}

Result<std::set<std::string>> held_out_code(CompileService& service, const std::filesystem::path& suite) {
  std::set<std::string> found;
  if (suite.empty()) return found;
  KW_TRY(const auto entries, load_suite(suite));
  for (const SuiteEntry& entry : entries) {
    if (!entry.task.ok() || entry.task->split != Split::holdout) continue;
    std::vector<std::string> kernels{entry.task->naive};
    if (auto text = read_file(suite / entry.name / "optimised.cu"); text.ok()) kernels.push_back(*text);
    for (const std::string& kernel : kernels) {
      const KernelBuild build = build_kernel(service, *entry.task, kernel, entry.name);
      if (build.built()) found.insert(build.compiled.ptx_fingerprint);
    }
  }
  return found;
}

Result<StreamOptions> store_stream(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "store.json";
  KW_TRY(const std::string text, read_file(path));
  const Json json = Json::parse(text, nullptr, false);
  const Error damaged{"not the description of a store", "", {path.string(), 0, 0}};
  if (!json.is_object() || !json.contains("seed") || !json["seed"].is_number_unsigned() || !json.contains("split") ||
      !json["split"].is_string() || !json.contains("families") || !json["families"].is_array())
    return damaged;
  StreamOptions options;
  options.seed = json["seed"].get<std::uint64_t>();
  const auto split = split_from_name(json["split"].get<std::string>());
  if (!split || *split == DataSplit::suite) return damaged;
  options.split = *split;
  for (const Json& each : json["families"]) {
    const auto family = each.is_string() ? family_from_name(each.get<std::string>()) : std::nullopt;
    if (!family) return damaged;
    options.families.push_back(*family);
  }
  return options;
}

Result<std::vector<Shard>> open_store(const std::filesystem::path& folder) {
  std::vector<Shard> shards;
  for (std::uint64_t number = 0;; ++number) {
    const std::filesystem::path path = shard_path(folder, number, "json");
    if (!std::filesystem::exists(path)) return shards;
    KW_TRY(const std::string text, read_file(path));
    Json description = Json::parse(text, nullptr, false);
    if (!description.is_object() || !description.contains("sha256"))
      return Error{"not the description of a shard", "remove it; the shard is made again", {path.string(), 0, 0}};
    shards.push_back({shard_path(folder, number, "jsonl"), std::move(description)});
  }
}

Result<std::vector<Json>> read_shard(const Shard& shard) {
  KW_TRY(const std::string text, read_file(shard.file, shard_limit_bytes));
  if (sha256_hex(text) != shard.description.value("sha256", ""))
    return Error{"the checksum does not fit",
                 "remove the shard's files; `data make` makes it again",
                 {shard.file.string(), 0, 0}};
  std::vector<Json> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(Json::parse(std::string_view(text).substr(at, end - at), nullptr, false));
    at = end + 1;
  }
  return lines;
}

}  // namespace kw
