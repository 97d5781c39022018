#include "base/installed_files.h"

#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"

namespace fs = std::filesystem;

namespace kw {
namespace {

std::vector<fs::path> program_folder_and_above() {
  std::vector<fs::path> folders;
  for (fs::path above = program_folder(); !above.empty(); above = above.parent_path()) {
    folders.push_back(above);
    if (above == above.parent_path()) break;
  }
  return folders;
}

}  // namespace

Result<fs::path> find_installed(const InstalledFolder& folder) {
  if (const char* own = std::getenv(folder.variable); own != nullptr && *own != '\0') {
    if (!fs::is_directory(own)) return Error{fmt::format("{} is not a folder: {}", folder.variable, own), "", {}};
    return fs::path(own);
  }
  std::error_code ignored;
  for (const fs::path& above : program_folder_and_above())
    if (fs::exists(above / folder.name / folder.sign, ignored)) return above / folder.name;
  const fs::path installed = program_folder().parent_path() / "share" / "kernelwright" / folder.name;
  if (fs::exists(installed / folder.sign, ignored)) return installed;
  return Error{fmt::format("{} not found in a folder {}/ beside or above {}", folder.content, folder.name,
                           program_folder().string()),
               fmt::format("set {} to the folder {}/", folder.variable, folder.name),
               {}};
}

fs::path find_library(const char* name) {
  std::error_code ignored;
  // Test programs lie deep in the build folder.
  for (const fs::path& above : program_folder_and_above())
    if (fs::exists(above / name, ignored)) return above / name;
  const fs::path installed = program_folder().parent_path() / "lib" / "kernelwright" / name;
  return fs::exists(installed, ignored) ? installed : program_folder() / name;
}

}  // namespace kw
