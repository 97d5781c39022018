#pragma once
// `tasks answer`: what a task's reference says, as files that numpy reads. For people who want to compare it with
// something of their own.

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "kernel/reference/reference.h"
#include "kernel/task/task.h"

namespace kw::cli {

// A tensor as a .npy file (format 1.0). bfloat16, which numpy lacks, is written as its 16 bits.
std::string npy_bytes(Dtype dtype, const std::vector<std::int64_t>& shape, const std::string& bytes);

// Writes FOLDER/SIZE_INDEX/NAME.npy for the inputs and outputs at each of `sizes`, and FOLDER/sizes.json.
Result<void> write_answers(const Task& task, const std::vector<Sizes>& sizes, std::uint64_t seed, Precision precision,
                           const std::filesystem::path& folder);

}  // namespace kw::cli
