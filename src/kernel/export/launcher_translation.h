#pragma once
// A launcher's host code as Python, for any sizes: what the interpreter would plan for given sizes, the Python function
// `launch` records when it is called with them. Integers keep C++'s widths, promotions and wrap-around; what is
// undefined in C++ raises. What cannot be translated is an error with its line, never a guess.
//
// The text needs the names of python/c_semantics.py and a recorder `rt` with the methods of python/launch_plan.py.

#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/source/kernel_file.h"
#include "kernel/task/task.h"

namespace kw {

struct ExportedKernel {
  std::string name;                 // as C++ names the instance: "reduce<256, float>"
  std::vector<std::string> layout;  // of each parameter, as a Python expression: 'p', 'i32', ('struct', 8, ...)
};

struct LauncherTranslation {
  std::string python;                   // classes, functions, and `def launch(rt, x, y, rows, cols)`
  std::vector<ExportedKernel> kernels;  // every instance that may be launched
  bool reads_addresses = false;         // it looks at the alignment of pointers
};

Result<LauncherTranslation> translate_launcher(const KernelFile& file, const Task& task);

}  // namespace kw
