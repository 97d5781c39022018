// tests/public_styles: kernels that nvcc accepts and that are written as public code is. Each is read, planned for all
// sizes of its task and compiled.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "kernel/judge/kernel_build.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

const fs::path root = KW_SOURCE_ROOT;
constexpr std::string_view task_line = "// task: ";

std::vector<fs::path> kernel_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(root / "tests" / "public_styles")) {
    if (entry.path().extension() == ".cu") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(PublicStylesSlow, EachIsBuilt) {
  CompileService service({.pool = {.workers = 1}, .disk_cache = false});
  const std::vector<fs::path> files = kernel_files();
  ASSERT_GE(files.size(), 35u);
  for (const fs::path& file : files) {
    const std::string text = read_file(file).value();
    ASSERT_TRUE(text.starts_with(task_line)) << file;
    const std::string name = text.substr(task_line.size(), text.find('\n') - task_line.size());
    const Result<Task> task = find_task(root / "tasks", name);
    ASSERT_TRUE(task.ok()) << file;
    BuildOptions options;
    options.want_cubin = false;
    const KernelBuild build = build_kernel(service, *task, text, file.filename(), options);
    EXPECT_TRUE(build.built()) << to_string(build.status) << ": " << to_string(build.problem);
  }
}

}  // namespace
}  // namespace kw
