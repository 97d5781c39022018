#pragma once
// A kernel of a search: where it comes from, and what became of it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/agent/strategies.h"
#include "agents/normal_form/normal_form.h"
#include "agents/search/known_time.h"
#include "kernel/judge/verdict.h"

namespace kw {

// Who proposes kernels. `given`: it was there before the search.
enum class SearchOperator : std::uint8_t { given, generator, optimizer, constants, edits };
inline constexpr std::size_t search_operators = 5;
std::string_view to_string(SearchOperator from);
bool needs_no_agent(SearchOperator from);  // it changes the text of a parent
std::optional<SearchOperator> search_operator_from_name(std::string_view name);

struct Proposal {
  SearchOperator from = SearchOperator::given;
  int parent = -1;          // candidate that it was made of; -1: none
  std::string change = {};  // "tile 64 -> 128", the level that was asked for; may be empty
  std::string kernel = {};
  AskedNames names = AskedNames::learned;  // that its launcher uses
};

struct Candidate {
  int number = 0;  // from 0, in the order in which they were taken
  Proposal proposal;
  std::shared_ptr<const Verdict> verdict;                // never null; without a GPU, or before it, times are modelled
  std::vector<std::shared_ptr<const Verdict>> measured;  // on the GPU, where the search measures
  std::vector<Strategy> strategies;
  // By the measurements, where there are any, else by the verdict. None: it is not right, or nobody knows its time.
  std::optional<KnownTime> time;

  // The judge believes it, and it has a time.
  bool right() const { return time.has_value(); }
};

}  // namespace kw
