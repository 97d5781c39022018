#pragma once
// The tasks that requests speak of: those of the suite by name, and those that a request brings along as YAML. A
// request never names a file. What was read and checked is kept for a while: clients ask about a task many times.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/recent_store.h"
#include "base/result.h"
#include "kernel/task/task.h"

namespace kw {

inline constexpr std::size_t max_task_bytes = 256u << 10;

class KnownTask {
 public:
  KnownTask(std::shared_ptr<const Task> task, std::string yaml) : task_(std::move(task)), yaml_(std::move(yaml)) {}

  const std::shared_ptr<const Task>& task() const { return task_; }
  const std::string& yaml() const { return yaml_; }
  // Whether its PyTorch text runs. Takes seconds the first time; others who ask meanwhile wait.
  Result<void> check();

  std::uint64_t kept_bytes() const { return 4 * yaml_.size() + 4096; }

 private:
  std::shared_ptr<const Task> task_;
  std::string yaml_;
  std::mutex checking_;
  std::optional<Result<void>> outcome_;
};

class TaskBook {
 public:
  using Suite = std::map<std::string, std::shared_ptr<KnownTask>>;

  static Result<std::unique_ptr<TaskBook>> open();

  const Suite& suite() const { return suite_; }
  // The member `task` of a request: a name, or {"yaml": "..."}.
  Result<std::shared_ptr<KnownTask>> find(const nlohmann::json& named);
  Result<std::shared_ptr<KnownTask>> from_yaml(const std::string& yaml);

 private:
  Suite suite_;
  RecentStore<KnownTask> recent_{{512, std::uint64_t{64} << 20}};
};

// What GET /v1/tasks says of a task.
nlohmann::ordered_json to_json(const Task& task);

}  // namespace kw
