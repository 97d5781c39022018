#pragma once
// Tasks from YAML (the format is described in tasks/README.md). Errors carry the file, line and column of what is
// wrong.

#include <filesystem>
#include <string_view>
#include <vector>

#include "kernel/task/task.h"

namespace kw {

// `file` is used in messages only. A task without an inline `naive:` keeps that field empty.
Result<Task> parse_task(std::string_view yaml, const std::string& file);

// A YAML file, or a folder with task.yaml and naive.cu.
Result<Task> load_task(const std::filesystem::path& path);

// A name of the suite, a folder or a YAML file, in that order.
Result<Task> find_task(const std::filesystem::path& suite, const std::string& name_or_path);

struct SuiteEntry {
  std::string name;  // of the folder or file
  Result<Task> task;
};

// Every folder with a task.yaml and every other *.yaml directly in `folder`, by name. A broken task is an entry with
// its error, so one bad file hides no other.
Result<std::vector<SuiteEntry>> load_suite(const std::filesystem::path& folder);

// Where the suite lies: KERNELWRIGHT_TASKS, or tasks/ beside the program or above it.
Result<std::filesystem::path> suite_folder();

}  // namespace kw
