#pragma once
// Checkpoints of a run: folders that are whole or not there. One is written under a temporary name, every file of it is
// checksummed and synced, then it is renamed. A damaged one is recognised and passed over.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"

namespace kw {

struct CheckpointOptions {
  int keep_last = 2;
  bool keep_best = true;  // the one with the highest score, however old
};

struct Checkpoint {
  std::int64_t step = 0;
  std::optional<double> score;
  nlohmann::ordered_json facts;  // what the writer wants to know before it reads anything
  std::filesystem::path folder;
};

class Checkpoints {
 public:
  // The folder is made if it is not there; what an interrupted save left is removed. One process saves, others may
  // look meanwhile.
  static Result<Checkpoints> open(const std::filesystem::path& folder, CheckpointOptions options = {});

  // `write` fills an empty folder. After an error, or a kill at any moment, the older ones are as they were.
  // Afterwards this one is the latest: those of later steps are of a past that was gone back from, and are removed
  // with those that need not be kept. A score that is not finite is none.
  Result<Checkpoint> save(std::int64_t step, std::optional<double> score, const nlohmann::ordered_json& facts,
                          const std::function<Result<void>(const std::filesystem::path&)>& write);

  // The newest whole one; none: nothing was saved. Damaged ones are named in the log; an error where there is no other.
  Result<std::optional<Checkpoint>> latest() const;
  Result<std::optional<Checkpoint>> best() const;
  // All that look whole, oldest first; their content was not read.
  Result<std::vector<Checkpoint>> list() const;

 private:
  explicit Checkpoints(std::filesystem::path folder, CheckpointOptions options)
      : folder_(std::move(folder)), options_(options) {}
  Result<void> remove_others(const Checkpoint& saved) const;

  std::filesystem::path folder_;
  CheckpointOptions options_;
};

}  // namespace kw
