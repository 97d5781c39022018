#pragma once
// What the exported Python files of all frameworks have in common: the description of the task, the kernels, the
// translated launcher, and the code that runs it.

#include <string>
#include <string_view>

#include "kernel/export/export_request.h"

namespace kw {

// A part of python/ by its name; it is inside the program.
std::string_view python_part(std::string_view name);

// The text as a Python literal: raw and readable where it can be.
std::string python_literal(std::string_view text);
// The file's first lines: what it is, where it comes from, how it is used.
std::string python_heading(const ExportRequest& request, std::string_view framework, std::string_view usage);
// Everything between the imports and the framework's own part.
Result<std::string> python_core(const ExportRequest& request);
// "x, alpha, bins": the parameters of the exported function.
std::string python_parameters(const Task& task);
// An input's name as a parameter: words of Python get a _ behind them.
std::string parameter_name(const std::string& name);

}  // namespace kw
