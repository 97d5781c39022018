#pragma once
// A store of episodes that grows for months: what has ended is forgotten, the oldest first.

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace kw {

// Until at most `most_bytes` of the file are used; what was freed makes room for new episodes. Those that are not over
// stay. On a connection of its own, so whoever writes to the file does not notice. Returns how many were forgotten.
Result<std::int64_t> forget_ended_episodes(const std::filesystem::path& file, std::uint64_t most_bytes);

}  // namespace kw
