#pragma once
// Content-addressed files, shared by any number of processes: an entry is complete or not there, whatever was killed
// when. A damaged entry is found by its checksum, removed and made again. The size is bounded; what was not used for
// the longest time goes first.

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw {

struct DiskCacheOptions {
  std::filesystem::path folder;
  std::uint64_t max_bytes = std::uint64_t{4} << 30;
};

struct DiskCacheState {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t damaged = 0;
};

class DiskCache {
 public:
  explicit DiskCache(DiskCacheOptions options);

  // `key`: 64 hexadecimal digits.
  std::optional<std::string> get(const std::string& key);
  // When it returns without an error the entry survives kill -9 of this process.
  Result<void> put(const std::string& key, std::string_view payload);

  // Removes the least recently used entries down to 80 % of the limit. Only one process does it at a time; the others
  // go on, and readers never wait.
  void evict_if_over_limit();

  // Reads and checks every entry.
  DiskCacheState inspect() const;

  std::filesystem::path path_of(const std::string& key) const;

 private:
  const DiskCacheOptions options_;
  std::mutex mutex_;
  std::uint64_t written_bytes_ = 0;  // since the last look at the whole folder
};

}  // namespace kw
