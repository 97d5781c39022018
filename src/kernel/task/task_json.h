#pragma once
// A task as JSON with the keys of a task's YAML file; parse_task reads it back, JSON being YAML.

#include <nlohmann/json.hpp>

#include "kernel/task/task.h"

namespace kw {

nlohmann::ordered_json task_json(const Task& task);

}  // namespace kw
