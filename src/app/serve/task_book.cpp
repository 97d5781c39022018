#include "app/serve/task_book.h"

#include <fmt/format.h>

#include "app/serve/api_json.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/nearest_name.h"
#include "kernel/reference/check_reference.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

Json to_json(const std::vector<TensorSpec>& tensors) {
  Json json = Json::object();
  for (const TensorSpec& tensor : tensors) {
    Json shape = Json::array();
    for (const Expression& extent : tensor.shape) shape.push_back(extent.text());
    json[tensor.name] = {{"dtype", name_of(tensor.dtype)}, {"shape", std::move(shape)}};
  }
  return json;
}

Json to_json(const std::vector<Sizes>& all) {
  Json json = Json::array();
  for (const Sizes& sizes : all) {
    Json one = Json::object();
    for (const auto& [name, value] : sizes) one[name] = value;
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace

Result<void> KnownTask::check() {
  const std::lock_guard lock(checking_);
  if (!outcome_) outcome_ = check_reference(*task_);
  return *outcome_;
}

Result<std::unique_ptr<TaskBook>> TaskBook::open() {
  auto book = std::make_unique<TaskBook>();
  KW_TRY(const auto folder, suite_folder());
  KW_TRY(auto suite, load_suite(folder));
  for (SuiteEntry& entry : suite) {
    if (!entry.task.ok()) continue;  // `tasks check` says what is wrong with it
    auto task = std::make_shared<const Task>(std::move(entry.task).value());
    auto yaml = read_file(task->file, max_task_bytes);
    book->suite_[entry.name] = std::make_shared<KnownTask>(std::move(task), yaml.ok() ? std::move(*yaml) : "");
  }
  return book;
}

Result<std::shared_ptr<KnownTask>> TaskBook::find(const nlohmann::json& named) {
  if (named.is_string()) {
    const auto& name = named.get_ref<const std::string&>();
    const auto known = suite_.find(name);
    if (known != suite_.end()) return known->second;
    std::vector<std::string> names;
    for (const auto& [one, task] : suite_) names.push_back(one);
    if (name.size() > 100) return Error{"there is no task of such a long name", "GET /v1/tasks lists them", {}};
    const std::string near = nearest_name(name, names);
    return Error{fmt::format("there is no task '{}'", name),
                 (near.empty() ? "" : fmt::format("did you mean '{}'? ", near)) +
                     "GET /v1/tasks lists them; a task of your own goes into {\"yaml\": ...}",
                 {}};
  }
  const auto yaml = named.is_object() ? named.find("yaml") : named.end();
  if (!named.is_object() || yaml == named.end() || !yaml->is_string() || named.size() != 1)
    return Error{"'task' must be a name of the suite, or {\"yaml\": the task's text}", "", {}};
  return from_yaml(yaml->get_ref<const std::string&>());
}

Result<std::shared_ptr<KnownTask>> TaskBook::from_yaml(const std::string& yaml) {
  if (yaml.size() > max_task_bytes)
    return Error{fmt::format("the task has {} bytes; at most {} are allowed", yaml.size(), max_task_bytes), "", {}};
  KW_TRY(Task task, parse_task(yaml, "task.yaml"));
  return recent_.find_or_make(sha256_hex(yaml), [&] {
    return std::make_shared<KnownTask>(std::make_shared<const Task>(std::move(task)), yaml);
  });
}

Json to_json(const Task& task) {
  return {{"name", task.name},
          {"tier", task.tier},
          {"family", task.family},
          {"split", task.split == Split::train ? "train" : "holdout"},
          {"summary", task.summary},
          {"pytorch", task.pytorch},
          {"inputs", to_json(task.inputs)},
          {"outputs", to_json(task.outputs)},
          {"launcher", task.launcher_declaration()},
          {"sizes",
           {{"small", to_json(task.sizes_small)},
            {"train", to_json(task.sizes_train)},
            {"holdout", to_json(task.sizes_holdout)}}}};
}

}  // namespace kw
