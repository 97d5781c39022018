#pragma once
// Which prompts a set of agents is asked with, as part of what identifies it.

#include <filesystem>

#include "agents/agent/dialect.h"

namespace kw {

// Of the prompts in the folder that a dialect speaks with.
Result<std::string> prompts_hash(const Dialect& dialect, const std::filesystem::path& folder);

}  // namespace kw
