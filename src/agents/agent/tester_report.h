#pragma once
// The Tester's report: what a verdict says, for a person. Most important first, one screen long. Markdown for pull
// requests and logs: whatever the kernel's author wrote (names, strings in messages) cannot become markup.

#include <cstdint>
#include <string>
#include <string_view>

#include "kernel/judge/verdict.h"

namespace kw {

enum class ReportStyle : std::uint8_t { text, markdown };

// `kernel` is the file that was judged, for the lines that are quoted; may be empty.
std::string tester_report(const Verdict& verdict, std::string_view kernel, ReportStyle style);

// What to do next, in one sentence.
std::string next_step(const Verdict& verdict);

}  // namespace kw
