#pragma once
// The result of a search for people and for programs.

#include <nlohmann/json.hpp>

#include <string>

#include "agents/search/search.h"
#include "base/page/html_report.h"
#include "kernel/task/task.h"

namespace kw {

// Why it ended: "the best time is within 5 % of the limit".
std::string end_text(const SearchOutcome& outcome, const SearchOptions& options);
// "tile 64 -> 128 of kernel 12", "by the generator (shared)", "given".
std::string origin_text(const Candidate& candidate);
// Of the best time; none without a limit.
std::optional<double> share_of_limit(const SearchOutcome& outcome, double us);

// One self-contained file: the best time against verdicts with the limit, who found what, the population, and how the
// best kernel came to be.
std::string search_page(const Task& task, const SearchOutcome& outcome, const SearchOptions& options,
                        const ReportFacts& facts);

// With every kernel that was judged.
nlohmann::ordered_json to_json(const SearchOutcome& outcome);

}  // namespace kw
