#pragma once
// A conversation as a page: what was asked, said and judged, each kernel as what it changed.

#include <string>
#include <vector>

#include "agents/episode/episode.h"
#include "base/page/html_report.h"

namespace kw {

// "repairs turn 1's kernel", "improves the given kernel"; empty for the Generator.
std::string purpose_of(const Episode& episode, const Turn& turn);
// "2.10 x naive, 14.2 us", or "2.10 x library, ..." where that wrote the task's naive kernel; empty without a time.
std::string speed_text(Baseline naive, const Verdict& verdict);
// Why it ended, for a person.
std::string end_text(const Episode& episode);

// For a gallery of a larger report.
ReportConversation report_conversation(const Episode& episode);

// One self-contained file. `facts` are shown at the end: model, device, judge, options.
std::string conversation_page(const Episode& episode, const ReportFacts& facts);

}  // namespace kw
