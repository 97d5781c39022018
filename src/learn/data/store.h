#pragma once
// The store: examples that the judge has seen one by one, in shards of JSON lines. A shard covers a fixed range of
// tasks of a stream. While it is made its lines stand in a .part file, so that a kill loses one task at most; finished,
// it is de-duplicated, written at once, and described by a .json file with its checksum and counts.
//
// Kinds of lines:
//   generate  task -> kernel at a level, which is right
//   optimise  a right kernel and its verdict -> a right kernel that is faster
//   repair    a broken kernel and its verdict -> the right kernel it was made from
//   report    a kernel -> its verdict, right or not

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "agents/grammar/stream.h"
#include "kernel/judge/judge.h"

namespace kw {

struct StoreOptions {
  std::filesystem::path folder;
  StreamOptions stream;
  std::uint64_t tasks = 100;       // from the stream's beginning
  std::uint64_t shard_tasks = 50;  // tasks a shard
  int mutants = 3;                 // broken kernels a task
  double least_gain = 1.1;         // by which a target of optimise is faster
  double formulas = 0;             // share of tasks whose kernels are in the formula style (stream.h)
  int workers = 1;
  bool show_progress = true;
  std::filesystem::path suite;  // tasks/: what its held-out kernels compile to is refused; empty: not looked at
};

struct StoreSummary {
  std::uint64_t tasks = 0;
  std::uint64_t tasks_known = 0;                 // were done before
  std::uint64_t written = 0, right = 0;          // kernels of the writers, not broken on purpose; judged correct
  std::map<std::string, std::uint64_t> kept;     // by kind
  std::map<std::string, std::uint64_t> dropped;  // by reason
  std::map<std::pair<std::string, std::string>, std::uint64_t> pairs;  // generate examples by family and level
  double seconds = 0;
  bool interrupted = false;
};

// How many tasks a store of this name has: "tiny", minutes on two cores; "full", at least 10,000 examples of generate,
// 8,000 of optimise and of repair, 5,000 of report. Nothing for other names.
std::optional<std::uint64_t> preset_tasks(std::string_view preset);

// An error when the folder cannot be written, or holds a store of another stream.
Result<StoreSummary> make_store(CompileService& service, const JudgeOptions& judge_options,
                                const StoreOptions& options);

// The shards of a store, each checked against its checksum.
struct Shard {
  std::filesystem::path file;
  nlohmann::ordered_json description;
};
Result<std::vector<Shard>> open_store(const std::filesystem::path& folder);
// The stream that a store was made of.
Result<StreamOptions> store_stream(const std::filesystem::path& folder);
// PTX fingerprints of every kernel of the suite's held-out tasks: what must not be learnt by heart. Empty for no
// folder.
Result<std::set<std::string>> held_out_code(CompileService& service, const std::filesystem::path& suite);
// One shard's lines. An error when its checksum does not fit.
Result<std::vector<nlohmann::ordered_json>> read_shard(const Shard& shard);

}  // namespace kw
