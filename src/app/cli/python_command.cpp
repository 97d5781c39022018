#include "app/cli/python_command.h"

#include <unistd.h>
#include <algorithm>

#include <cstdlib>
#include <iostream>

#include "base/child_process.h"
#include "base/file.h"
#include "base/installed_files.h"
#include "kernel/task/task_file.h"

namespace kw::cli {
namespace {

namespace fs = std::filesystem;

const char* const how_to_install =
    "pip install ./python[torch] in an environment, activate it, or set KERNELWRIGHT_PYTHON to its python";

// Where the package lies in a checkout, so that it need not be installed there.
std::string path_with_package() {
  const auto folder = find_installed({"python", "KERNELWRIGHT_PACKAGE", "kernelwright/__init__.py", "the package was"});
  const char* before = std::getenv("PYTHONPATH");
  const std::string known = before != nullptr ? before : "";
  if (!folder.ok()) return known;
  return known.empty() ? folder->string() : known + ":" + folder->string();
}

Result<void> can_import(const std::string& python, const std::string& needs) {
  const ChildCommand command{{python, "-c", "import kernelwright" + (needs.empty() ? "" : ", " + needs)},
                             "",
                             "",
                             {"PYTHONPATH=" + path_with_package()}};
  KW_TRY(const ChildOutcome outcome, run_child(command));
  if (outcome.succeeded()) return {};
  std::string last = outcome.error_output;
  while (!last.empty() && last.back() == '\n') last.pop_back();
  return Error{last.substr(last.find_last_of('\n') + 1), "", {}};
}

}  // namespace

Result<std::string> find_python(const std::string& needs) {
  std::vector<std::string> candidates;
  const char* own = std::getenv("KERNELWRIGHT_PYTHON");
  if (own != nullptr && *own != '\0') {
    candidates = {own};  // what a person asks for is not replaced by another
  } else {
    if (const char* environment = std::getenv("VIRTUAL_ENV"); environment != nullptr && *environment != '\0')
      candidates.push_back((fs::path(environment) / "bin" / "python").string());
    candidates.emplace_back("python3");
  }
  std::string reasons;
  for (const std::string& python : candidates) {
    const auto works = can_import(python, needs);
    if (works.ok()) return python;
    reasons += (reasons.empty() ? "" : "; ") + python + ": " + works.error().message;
  }
  return Error{
      "this needs Python with the package kernelwright" + (needs.empty() ? "" : " and " + needs) + " (" + reasons + ")",
      how_to_install,
      {}};
}

Error become_python(const std::string& module, const std::vector<std::string>& arguments, const std::string& needs) {
  const auto python = find_python(needs);
  if (!python.ok()) return python.error();
  ::setenv("PYTHONPATH", path_with_package().c_str(), 1);
  ::setenv("KERNELWRIGHT", (program_folder() / "kernelwright").c_str(), 0);
  std::vector<std::string> words = {*python, "-m", "kernelwright." + module};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::cout.flush();
  ::execvp(pointers[0], pointers.data());
  return Error{"cannot start " + *python, how_to_install, {}};
}

Result<Task> import_python_task(const std::string& file) {
  const auto python = find_python("torch");
  if (!python.ok())
    return Error{file + " is Python, and a task is YAML; importing it failed: " + python.error().message,
                 python.error().advice + "; then `kernelwright task import " + file + "` writes the task",
                 {}};
  ChildLimits limits;
  limits.wall = std::chrono::minutes(10);
  const ChildCommand command{{*python, "-m", "kernelwright.torch_task", "import", file, "--print"},
                             "",
                             "",
                             {"PYTHONPATH=" + path_with_package()}};
  KW_TRY(const ChildOutcome outcome, run_child(command, limits));
  if (outcome.end == ChildEnd::deadline) return Error{"importing " + file + " took over ten minutes", "", {}};
  if (!outcome.succeeded()) {
    std::string text = outcome.error_output;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return Error{"importing " + file + " failed: " + text.substr(text.size() > 4000 ? text.size() - 4000 : 0), "", {}};
  }
  return parse_task(outcome.output, file);
}

namespace {

// The words after the subcommand are the package's business: it knows its options and explains them.
void pass_on(CLI::App& app, Context& context, const char* name, const char* module, const char* help,
             const char* needs = "torch") {
  auto* command = app.add_subcommand(name, help);
  command->allow_extras();
  command->prefix_command();
  command->set_help_flag();  // --help is passed on, too
  command->callback([&context, command, name, module, needs] {
    std::vector<std::string> words = {name};
    const auto rest = command->remaining();
    words.insert(words.end(), rest.begin(), rest.end());
    const bool asks = std::find(words.begin(), words.end(), "--help") != words.end();
    fail(context, become_python(module, words, asks ? "" : needs));
  });
}

}  // namespace

void add_task_command(CLI::App& app, Context& context) {
  auto* task = app.add_subcommand("task", "Tasks from PyTorch files (by the Python package)");
  task->require_subcommand(1);
  task->footer("Example:\n  kernelwright task import my_model.py --out tasks/");
  pass_on(*task, context, "import", "torch_task",
          "A file with a class Model, get_inputs() and get_init_inputs() becomes a task");
}

void add_sakana_command(CLI::App& data, Context& context) {
  pass_on(data, context, "import-sakana", "sakana",
          "Judges a Parquet file of the AI CUDA Engineer archive again, keeps what is right (by the Python package)",
          "torch, pyarrow");
}

void add_kernelbench_command(CLI::App& app, Context& context) {
  auto* bench = app.add_subcommand("kernelbench", "KernelBench: import, run, export, score (by the Python package)");
  bench->require_subcommand(1);
  bench->footer(
      "Examples:\n  kernelwright kernelbench import KernelBench/ --out kb\n"
      "  kernelwright kernelbench run kb --levels 1,2 --samples 4 --turns 3\n"
      "  kernelwright kernelbench export kb\n  kernelwright kernelbench score kb");
  pass_on(*bench, context, "import", "kernelbench", "Every problem of a folder becomes a task");
  pass_on(*bench, context, "run", "kernelbench", "Agents write kernels for imported problems");
  pass_on(*bench, context, "export", "kernelbench", "Kernels as ModelNew files for the stock scorer");
  pass_on(*bench, context, "score", "kernelbench", "Tables of what was solved, and how fast");
}

}  // namespace kw::cli
