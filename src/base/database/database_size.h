#pragma once
// How much of a database's file is in use.

#include <cstdint>

#include "base/database/database.h"

namespace kw {

// Without what is free in the file: rows that were deleted make room for new ones, and the file does not shrink.
Result<std::uint64_t> used_bytes(Database& database);

}  // namespace kw
