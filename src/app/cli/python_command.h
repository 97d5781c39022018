#pragma once
// Commands whose work is done by the Python package (python/kernelwright): what needs PyTorch's Python side. They start
// `python -m kernelwright.MODULE ARGUMENTS`.

#include <string>
#include <vector>

#include "app/cli/command.h"

namespace kw::cli {

// An interpreter that can import kernelwright and `needs`, such as "torch": $KERNELWRIGHT_PYTHON, the active virtual
// environment, then python3. The package of a checkout is found without being installed.
Result<std::string> find_python(const std::string& needs);

// The process becomes `python -m kernelwright.MODULE ARGUMENTS`; returns only where that cannot be started.
Error become_python(const std::string& module, const std::vector<std::string>& arguments, const std::string& needs);

// A file of Python in the place of a task: it is imported, and the task is the result.
Result<Task> import_python_task(const std::string& file);

void add_task_command(CLI::App& app, Context& context);         // task import
void add_sakana_command(CLI::App& data, Context& context);      // data import-sakana
void add_kernelbench_command(CLI::App& app, Context& context);  // kernelbench import, run, export, score

}  // namespace kw::cli
