#pragma once
// Models by name: those that `kernelwright model fetch` puts into the cache.

#include <filesystem>
#include <string>

#include "base/result.h"

namespace kw {

inline constexpr const char* smollm2_name = "smollm2-135m";

// Where `model fetch smollm2-135m` puts the GGUF file.
std::filesystem::path smollm2_file();

// A model as a user names it: a path, or a name that `model fetch` knows. An error when that was not fetched yet.
Result<std::filesystem::path> model_path(const std::string& name_or_path);

}  // namespace kw
