#pragma once
// A verdict from a text that nobody vouches for, as `kernelwright judge --json` writes it. Bounded in bytes, depth,
// members and list lengths while it is read; numbers that a verdict holds as whole ones must be whole and in range; and
// the verdict must agree with itself, so that no hand-written file is correct and rejected at once.

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "kernel/judge/verdict.h"

namespace kw {

inline constexpr std::size_t max_verdict_bytes = std::size_t{8} << 20;

Result<Verdict> read_verdict_text(std::string_view text);
// Of a part of something larger that was parsed within bounds.
Result<Verdict> read_verdict_json(const nlohmann::ordered_json& json);
// `-` reads standard input.
Result<Verdict> read_verdict_file(const std::filesystem::path& path);

}  // namespace kw
