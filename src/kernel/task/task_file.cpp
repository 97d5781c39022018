#include "kernel/task/task_file.h"

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "base/installed_files.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t max_task_bytes = 1u << 20;
constexpr std::size_t max_suite_entries = 100000;

std::string lower_hint(const std::string& name, const std::vector<std::string>& known) {
  std::string hint;
  for (const std::string& candidate : known) {
    if (candidate.find(name) != std::string::npos || name.find(candidate) != std::string::npos) {
      hint += (hint.empty() ? "" : ", ") + candidate;
    }
  }
  return hint;
}

}  // namespace

Result<Task> load_task(const fs::path& path) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  const fs::path yaml_file = is_folder ? path / "task.yaml" : path;
  KW_TRY(const std::string yaml, read_file(yaml_file, max_task_bytes));
  KW_TRY(Task task, parse_task(yaml, yaml_file.string()));
  const fs::path naive_file = yaml_file.parent_path() / "naive.cu";
  const bool is_task_folder = yaml_file.filename() == "task.yaml";
  if (is_task_folder) {
    const std::string folder = fs::absolute(yaml_file).lexically_normal().parent_path().filename().string();
    if (folder != task.name) {
      return Error{"the task is called '" + task.name + "' but its folder '" + folder + "'",
                   "give both the same name",
                   {yaml_file.string(), 1, 1}};
    }
  }
  if (!task.naive.empty()) {
    task.naive_file = task.file;
  } else if (is_task_folder && fs::exists(naive_file, ignored)) {
    KW_TRY(task.naive, read_file(naive_file, max_task_bytes));
    task.naive_file = naive_file.string();
  }
  return task;
}

Result<Task> find_task(const fs::path& suite, const std::string& name_or_path) {
  std::error_code ignored;
  const bool looks_like_name = name_or_path.find_first_of("/.") == std::string::npos;
  if (looks_like_name) {
    if (fs::exists(suite / name_or_path / "task.yaml", ignored)) return load_task(suite / name_or_path);
    if (fs::exists(suite / (name_or_path + ".yaml"), ignored)) return load_task(suite / (name_or_path + ".yaml"));
  }
  if (fs::exists(name_or_path, ignored)) return load_task(name_or_path);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(suite, ignored)) names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  const std::string hint = lower_hint(name_or_path, names);
  return Error{"there is no task '" + name_or_path + "': neither in the suite " + suite.string() + " nor as a file",
               hint.empty() ? "`kernelwright tasks list` shows the names" : "did you mean: " + hint,
               {}};
}

Result<std::vector<SuiteEntry>> load_suite(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const bool is_task = fs::exists(entry->path() / "task.yaml") || entry->path().extension() == ".yaml";
    if (is_task) paths.push_back(entry->path());
    if (paths.size() > max_suite_entries) return Error{folder.string() + " holds too many tasks", "", {}};
  }
  if (error) return Error{"cannot list the tasks in " + folder.string() + ": " + error.message(), "", {}};
  std::sort(paths.begin(), paths.end());
  std::vector<SuiteEntry> suite;
  for (const fs::path& path : paths) suite.push_back({path.stem().string(), load_task(path)});
  // Two files may not claim one name: `tasks show` would depend on the order.
  for (std::size_t i = 0; i < suite.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!suite[i].task.ok() || !suite[j].task.ok() || suite[i].task->name != suite[j].task->name) continue;
      suite[i].task = Error{"the name '" + suite[j].task->name + "' is already taken by " + suite[j].task->file,
                            "",
                            {suite[i].task->file, 1, 1}};
    }
  }
  return suite;
}

Result<fs::path> suite_folder() {
  return find_installed({"tasks", "KERNELWRIGHT_TASKS", "relu/task.yaml", "the task suite was"});
}

}  // namespace kw
