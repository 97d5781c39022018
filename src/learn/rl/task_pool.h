#pragma once
// The tasks that a run learns from: the first so many of the training stream, by name, with their tiers.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/grammar/stream.h"
#include "learn/curriculum/curriculum.h"

namespace kw {

struct TaskPool {
  std::map<std::string, std::shared_ptr<const Task>> tasks;
  std::vector<CurriculumTask> tiers;
};

// From the stream's beginning; naive kernels are their baselines. Held-out tasks are refused.
Result<TaskPool> draw_task_pool(StreamOptions options, std::size_t count);

// "tiers" (0 to 3), "easy_medium_hard", or "none": all tasks from the start.
// `rules`: instead of the kind's own.
Result<Curriculum> make_curriculum(const TaskPool& pool, const std::string& kind, std::uint64_t seed,
                                   const std::optional<CurriculumRules>& rules = std::nullopt);

}  // namespace kw
