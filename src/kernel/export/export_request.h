#pragma once
// What is exported: a kernel, its task, and in which form its code travels.

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/export/launcher_translation.h"
#include "kernel/source/kernel_file.h"
#include "kernel/task/task.h"

namespace kw {

struct ExportedCubin {
  std::string architecture;                    // "sm_90"
  std::string image;                           // bytes
  std::map<std::string, std::string> symbols;  // by the kernel's C++ name
};

struct ExportRequest {
  Task task;
  KernelFile file;
  std::string text;  // the whole kernel file
  std::string version;
  bool compile_with_nvcc = false;     // Python formats: the launcher itself is compiled by the user's nvcc
  std::vector<ExportedCubin> cubins;  // instead of source; not with nvcc
};

// A name that Python, C and torch accept: the task's, with other characters replaced.
std::string function_name(const Task& task);
// The same with a few digits of the kernel's hash: two exports of one task can live together.
std::string operator_name(const ExportRequest& request);

// Size names that no input's shape shows as it is: the caller must say them.
std::vector<std::string> given_sizes(const Task& task);

// One Python file (torch_file.cpp, cupy_file.cpp). Fails where the launcher cannot be translated.
Result<std::string> export_torch(const ExportRequest& request);
Result<std::string> export_cupy(const ExportRequest& request);

// A header and a CUDA file for nvcc (c_file.cpp).
struct CFiles {
  std::string header;
  std::string source;
};
Result<CFiles> export_c(const ExportRequest& request, const std::string& header_name);

}  // namespace kw
