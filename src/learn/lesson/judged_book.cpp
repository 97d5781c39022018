#include "learn/lesson/judged_book.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/parallel_for.h"
#include "kernel/task/task_file.h"
#include "kernel/task/task_json.h"
#include "learn/data/store.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

struct Source {
  std::uint64_t seed = 0;
  std::string split;
};

// Every line says which stream it comes from.
Result<Source> source_of(const Shard& shard) {
  KW_TRY(const std::vector<Json> lines, read_shard(shard));
  try {
    if (!lines.empty())
      return Source{lines.front().at("seed").get<std::uint64_t>(), lines.front().at("split").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
  }
  return Error{"the lines name no stream", "", {shard.file.string(), 0, 0}};
}

// One shard's tasks, in the order of their lines.
Result<std::vector<JudgedTask>> read_tasks(const Shard& shard, const Source& source, const ExampleStream& stream) {
  KW_TRY(const std::vector<Json> lines, read_shard(shard));
  std::vector<JudgedTask> tasks;
  std::map<std::uint64_t, std::size_t> places;
  const auto bad = [&](const std::string& why) { return Error{why, "", {shard.file.string(), 0, 0}}; };
  try {
    for (const Json& line : lines) {
      if (line.at("kind") != "report") continue;
      if (line.at("seed").get<std::uint64_t>() != source.seed || line.at("split") != source.split)
        return bad("lines of another stream");
      const auto index = line.at("index").get<std::uint64_t>();
      const auto [place, is_new] = places.try_emplace(index, tasks.size());
      if (is_new) {
        JudgedTask task;
        KW_TRY(task.task, parse_task(line.at("task").dump(), shard.file.string()));
        // The naive kernel's text may be another by now; the task is the same if all else is.
        DrawnTask drawn = stream.task_at(index);
        drawn.task.naive = task.task.naive;
        if (task_json(drawn.task) == line.at("task") && drawn.structure == line.at("structure"))
          task.drawn = std::move(drawn);
        tasks.push_back(std::move(task));
      }
      JudgedKernel kernel;
      const auto level = level_from_name(line.at("level").get<std::string>());
      if (!level) return bad("a level that is not known");
      kernel.level = *level;
      if (line.contains("mistake")) kernel.mistake = line.at("mistake").get<std::string>();
      kernel.text = line.at("kernel").get<std::string>();
      KW_TRY(kernel.verdict, verdict_from_json(line.at("verdict")));
      tasks[place->second].kernels.push_back(std::move(kernel));
    }
  } catch (const nlohmann::json::exception& error) {
    return bad(fmt::format("not a line of a store: {}", error.what()));
  }
  return tasks;
}

}  // namespace

Result<JudgedBook> JudgedBook::load(const std::filesystem::path& store, int threads) {
  KW_TRY(const std::vector<Shard> shards, open_store(store));
  if (shards.empty()) return Error{"no finished shard here", "make one with kernelwright data make", {store, 0, 0}};
  JudgedBook book;
  KW_TRY(const Source source, source_of(shards.front()));
  const auto split = split_from_name(source.split);
  if (!split) return Error{"the lines name no split that is known", "", {shards.front().file.string(), 0, 0}};
  if (*split != DataSplit::train)
    return Error{fmt::format("a store of the split {} is for evaluation, not for training", source.split),
                 "",
                 {store.string(), 0, 0}};
  StreamOptions options;
  options.seed = source.seed;
  options.split = *split;
  // A store of some families has other tasks at its places than one of all.
  if (const auto stream = store_stream(store); stream.ok()) options.families = stream->families;
  options.naive_too = true;
  book.stream_.emplace(options);

  std::vector<std::optional<Result<std::vector<JudgedTask>>>> read(shards.size());
  parallel_for(shards.size(), threads,
               [&](std::size_t at) { read[at].emplace(read_tasks(shards[at], source, *book.stream_)); });
  for (auto& part : read) {
    if (!part->ok()) return part->error();
    for (JudgedTask& task : **part) book.tasks_.push_back(std::move(task));
  }
  for (std::uint32_t t = 0; t < book.tasks_.size(); ++t)
    for (std::uint32_t k = 0; k < book.tasks_[t].kernels.size(); ++k) {
      const Place place{t, k};
      const JudgedKernel& kernel = book.kernel(place);
      book.all_.push_back(place);
      if (kernel.verdict.correct && !book.faster_than(place, lesson_gain).empty()) book.improvable_.push_back(place);
      if (!kernel.verdict.correct && book.original_of(place) != nullptr) book.broken_.push_back(place);
    }
  std::map<Family, std::map<Level, std::pair<double, int>>> sums;
  for (const JudgedTask& task : book.tasks_)
    for (const JudgedKernel& kernel : task.kernels)
      if (task.drawn && kernel.verdict.correct && kernel.verdict.speedup_naive) {
        auto& [sum, count] = sums[task.drawn->problem.family][kernel.level];
        sum += std::log(*kernel.verdict.speedup_naive);
        ++count;
      }
  for (const auto& [family, levels] : sums)
    for (const auto& [level, sum] : levels) book.speedup_[family][level] = std::exp(sum.first / sum.second);
  if (book.all_.empty()) return Error{"the store has no reports", "", {store.string(), 0, 0}};
  return book;
}

std::vector<const JudgedKernel*> JudgedBook::faster_than(Place place, double gain) const {
  std::vector<const JudgedKernel*> faster;
  const auto& time = kernel(place).verdict.time_us;
  if (!time) return faster;
  for (const JudgedKernel& other : task(place).kernels)
    if (other.verdict.correct && other.verdict.time_us && *other.verdict.time_us * gain <= *time)
      faster.push_back(&other);
  std::ranges::stable_sort(faster, {}, [](const JudgedKernel* one) { return *one->verdict.time_us; });
  return faster;
}

std::vector<Level> JudgedBook::faster_levels(Family family, Level level, double gain) const {
  std::vector<Level> faster;
  const auto known = speedup_.find(family);
  if (known == speedup_.end() || known->second.count(level) == 0) return faster;
  const auto& levels = known->second;
  for (const auto& [other, speedup] : levels)
    if (speedup >= gain * levels.at(level)) faster.push_back(other);
  std::ranges::stable_sort(faster, std::ranges::greater{}, [&](Level one) { return levels.at(one); });
  return faster;
}

const JudgedKernel* JudgedBook::original_of(Place place) const {
  for (const JudgedKernel& other : task(place).kernels)
    if (other.verdict.correct && other.level == kernel(place).level) return &other;
  return nullptr;
}

}  // namespace kw
