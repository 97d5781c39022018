#pragma once
// Conversations on disk as they happen (SQLite): a turn is there as a whole or not at all, so a kill loses at most the
// turn that was being taken. An episode is found again by its identity (turn_policy.h), never by chance: another seed,
// model, task or option is another episode.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/episode/episode.h"
#include "base/database/database.h"

namespace kw {

struct StoredEpisode {
  std::string task_text;  // as parse_task() reads it; empty: an older program wrote it
  std::string level;
  std::string given_kernel;
  std::shared_ptr<const Verdict> given_verdict;
  std::vector<Turn> turns;
  EpisodeEnd end = EpisodeEnd::unfinished;
  std::string problem;
};

struct StoredSummary {
  std::string identity;
  std::string task;
  std::string model;
  std::int64_t number = 0;
  std::int64_t turns = 0;
  EpisodeEnd end = EpisodeEnd::unfinished;
  std::optional<double> best_speedup;
};

// Belongs to one thread at a time.
class EpisodeStore {
 public:
  // Made if it is not there and not only read.
  static Result<std::unique_ptr<EpisodeStore>> open(const std::filesystem::path& file, DatabaseOptions options = {});

  // What is known of an episode; none: nothing. A damaged row is an error.
  Result<std::optional<StoredEpisode>> find(const std::string& identity);

  Result<void> begin(const std::string& identity, const EpisodeRequest& request, const std::string& model);
  Result<void> add_given(const std::string& identity, const Verdict& verdict);
  Result<void> add_turn(const std::string& identity, const Turn& turn);
  Result<void> finish(const std::string& identity, const Episode& episode);

  Result<std::vector<StoredSummary>> list();

 private:
  explicit EpisodeStore(Database database) : database_(std::move(database)) {}
  Result<std::optional<std::int64_t>> row_of(const std::string& identity);
  Result<std::int64_t> known_row_of(const std::string& identity);
  Result<std::vector<Turn>> turns_of(std::int64_t row);
  Result<std::vector<TurnSample>> samples_of(std::int64_t row, int turn);

  Database database_;
};

}  // namespace kw
