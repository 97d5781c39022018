#pragma once
// Whether a store that is meant for training holds anything of what is kept for evaluation. Its tasks are drawn again
// from seed and index, so that what a line says of itself need not be taken on trust.

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "learn/data/store.h"

namespace kw {

struct LeakReport {
  std::uint64_t examples = 0;
  std::uint64_t structures = 0;
  std::uint64_t tasks = 0;
  std::uint64_t tasks_not_drawn = 0;  // this grammar draws others there: their structures are taken on trust
  std::uint64_t kernels_known = 0;    // held-out kernels of the suite that were compared with
  std::uint64_t held_out_tasks = 0;   // composition and novel tasks that were drawn and compared with
  std::vector<std::string> leaks;     // "shard-00002.jsonl:17: the structure ... is held out", the first of them
  std::uint64_t leaks_found = 0;
};

struct LeakOptions {
  // Tasks of each held-out split, of the store's seed and of others, whose structures must not occur.
  std::uint64_t held_out_tasks = 20'000;
  // PTX fingerprints that must not occur.
  std::set<std::string> held_out_code;
};

// An error when the store cannot be read, or is itself one of held-out tasks.
Result<LeakReport> check_leaks(const std::filesystem::path& folder, const LeakOptions& options);

}  // namespace kw
