#include "learn/rl/task_pool.h"

#include <algorithm>

namespace kw {

Result<TaskPool> draw_task_pool(StreamOptions options, std::size_t count) {
  constexpr std::size_t most = 1'000'000;
  if (count < 1 || count > most) return Error{"a pool has 1 to 1,000,000 tasks", "", {}};
  if (options.split != DataSplit::train) return Error{"held-out tasks are not for training", "", {}};
  const auto novel = novel_families();
  for (const Family family : options.families)
    if (std::ranges::count(novel, family) > 0)
      return Error{"the family " + std::string(name_of(family)) + " is held out: training never shows it", "", {}};
  options.naive_too = true;
  const ExampleStream stream(options);
  TaskPool pool;
  for (std::uint64_t i = 0; pool.tasks.size() < count; ++i) {
    DrawnTask drawn = stream.task_at(i);
    std::string name = drawn.task.name;
    if (!pool.tasks.emplace(name, std::make_shared<const Task>(std::move(drawn.task))).second)
      return Error{"two tasks of the stream are called " + name, "", {}};
    pool.tiers.push_back({std::move(name), drawn.problem.tier});
  }
  return pool;
}

Result<Curriculum> make_curriculum(const TaskPool& pool, const std::string& kind, std::uint64_t seed,
                                   const std::optional<CurriculumRules>& rules) {
  const bool easy_medium = kind == "easy_medium_hard";
  if (!easy_medium && kind != "tiers" && kind != "none")
    return Error{"there is no curriculum '" + kind + "'", "tiers, easy_medium_hard or none", {}};
  std::vector<CurriculumTask> tasks = pool.tiers;
  for (CurriculumTask& task : tasks) {
    if (kind == "none") task.tier = 0;
    if (easy_medium) task.tier = std::min(task.tier, 2);
  }
  if (rules) return Curriculum::make(std::move(tasks), *rules, seed);
  return Curriculum::make(std::move(tasks), easy_medium ? easy_medium_hard() : four_tiers(), seed);
}

}  // namespace kw
