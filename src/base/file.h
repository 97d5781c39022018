#pragma once
// Reading files with a bound, and writing them so that a reader sees the old content or the new, never a part.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw {

inline constexpr std::size_t default_file_limit_bytes = 64u << 20;

// Refuses folders, devices, pipes and files over the limit.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes = default_file_limit_bytes);

enum class Durability {
  process_crash,  // survives kill -9 of this process
  power_loss,     // also synced to the disk before it is reported as written
};

// Writes a temporary file beside `path` and renames it over.
Result<void> write_file_atomic(const std::filesystem::path& path, std::string_view bytes,
                               Durability durability = Durability::process_crash);

// ~/.cache/kernelwright, or what KERNELWRIGHT_CACHE or XDG_CACHE_HOME says.
std::filesystem::path cache_folder();

// The folder of the running program, wherever it was started from.
std::filesystem::path program_folder();

// A folder of its own under the system's temporary folder, removed with its content at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace kw
