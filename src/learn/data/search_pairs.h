#pragma once
// What a search has learned, as data to train on: from its record (agents/search, SQLite), pairs of right kernels of
// which the second is faster, as lines of kind `optimise` (docs/data.md). Where the two differ by constants alone, the
// line also has the change as an Optimizer may answer it: "constants": "tile = 128, stages = 3".

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "kernel/task/task.h"

namespace kw {

struct SearchPairOptions {
  double least_gain = 1.1;
  std::set<std::string> held_out_code = {};  // PTX fingerprints that must not come out
};

struct SearchPairs {
  std::vector<nlohmann::ordered_json> lines;
  std::uint64_t kernels = 0, right = 0;
  std::uint64_t of_constants = 0;  // lines with a change of constants
  std::map<std::string, std::uint64_t> dropped;
};

// Of all searches of that task in the file: from every right kernel to the fastest one, and to the fastest of those
// that differ from it by constants. Measured times are compared with measured ones, modelled with modelled. An error
// for a task that is held out: what is to be tested must not be learned.
Result<SearchPairs> pairs_of_searches(const std::filesystem::path& record, const Task& task,
                                      const SearchPairOptions& options = {});

// "tile = 128, stages = 3"; empty: they differ by something else, or in nothing.
std::string constants_between(const std::string& kernel, const std::string& target);

// A store of one shard, which `data stats` and `data export` read. An error where there is a store already.
Result<void> write_search_store(const std::filesystem::path& folder, const SearchPairs& pairs);

}  // namespace kw
