#include "agents/episode/episode_store.h"

#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "kernel/task/task_json.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> schema{R"(
CREATE TABLE episodes (
  id INTEGER PRIMARY KEY,
  identity TEXT NOT NULL UNIQUE,
  model TEXT NOT NULL,
  task TEXT NOT NULL,
  number INTEGER NOT NULL,
  level TEXT NOT NULL,
  given_kernel TEXT NOT NULL,
  given_verdict TEXT,             -- JSON
  end TEXT NOT NULL,              -- 'unfinished' while it goes on
  problem TEXT NOT NULL,
  best_turn INTEGER,              -- -1: the given kernel
  best_speedup REAL
);
CREATE TABLE turns (
  episode INTEGER NOT NULL REFERENCES episodes(id),
  turn INTEGER NOT NULL,
  role TEXT NOT NULL,
  given_turn INTEGER NOT NULL,
  prompt BLOB NOT NULL,           -- int32, little endian
  chosen INTEGER NOT NULL,
  seconds REAL NOT NULL,
  PRIMARY KEY (episode, turn)
) WITHOUT ROWID;
CREATE TABLE samples (
  episode INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  sample INTEGER NOT NULL,
  tokens BLOB NOT NULL,           -- int32
  log_probs BLOB NOT NULL,        -- float32
  finish TEXT NOT NULL,
  weights_version INTEGER NOT NULL,
  last_weights_version INTEGER NOT NULL,
  text BLOB NOT NULL,             -- as it was said: not always UTF-8
  outcome TEXT NOT NULL,
  message TEXT NOT NULL,
  kernel TEXT NOT NULL,
  said TEXT NOT NULL,
  strategies TEXT NOT NULL,       -- with commas
  predicted_correct REAL,
  skipped INTEGER NOT NULL,
  verdict TEXT,                   -- JSON
  reward REAL NOT NULL,
  rewarded INTEGER NOT NULL,
  PRIMARY KEY (episode, turn, sample)
) WITHOUT ROWID;
)",
                                                 R"(
-- Answers from elsewhere have no tokens of ours, only a count; the task, as JSON, lets another model be asked the same.
ALTER TABLE samples ADD COLUMN usage_prompt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE samples ADD COLUMN usage_answer INTEGER NOT NULL DEFAULT 0;
ALTER TABLE episodes ADD COLUMN task_text TEXT NOT NULL DEFAULT '';
)",
                                                 R"(
-- What an answer was held to while it was sampled: without it, its log-probabilities mean nothing to a trainer.
ALTER TABLE samples ADD COLUMN held_to TEXT NOT NULL DEFAULT '';
ALTER TABLE samples ADD COLUMN resampled INTEGER NOT NULL DEFAULT 0;
)"};

Error damaged(std::string what) { return {"the store is damaged: " + std::move(what), "use another file", {}}; }

template <class Number>
std::span<const std::byte> bytes_of(const std::vector<Number>& numbers) {
  return std::as_bytes(std::span(numbers));
}

template <class Number>
Result<std::vector<Number>> numbers_from(std::span<const std::byte> bytes) {
  static_assert(sizeof(Number) == 4);
  if (bytes.size() % sizeof(Number) != 0) return damaged("a list of numbers is cut");
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

std::string text_from(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string json_text(const Verdict& verdict) {
  // What a verdict quotes may hold bytes that are no text.
  return to_json(verdict).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::shared_ptr<const Verdict>> verdict_from(const Statement& row, int column) {
  if (row.is_null(column)) return std::shared_ptr<const Verdict>();
  const Json json = Json::parse(row.text(column), nullptr, false);
  if (json.is_discarded()) return damaged("a verdict is no JSON");
  auto verdict = verdict_from_json(json);
  if (!verdict.ok()) return damaged(verdict.error().message);
  return std::shared_ptr<const Verdict>(std::make_shared<const Verdict>(std::move(verdict).value()));
}

std::string joined(const std::vector<Strategy>& strategies) {
  std::string text;
  for (const Strategy strategy : strategies) text += fmt::format("{}{}", text.empty() ? "" : ",", to_string(strategy));
  return text;
}

Result<std::vector<Strategy>> strategies_from(std::string_view text) {
  std::vector<Strategy> strategies;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const auto strategy = strategy_from_string(text.substr(0, end));
    if (!strategy) return damaged("an unknown strategy");
    strategies.push_back(*strategy);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return strategies;
}

// The members of an enumeration that starts at 0 and has to_string.
template <class Enum>
Result<Enum> named(std::string_view text, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i)
    if (text == to_string(static_cast<Enum>(i))) return static_cast<Enum>(i);
  return damaged(fmt::format("'{}' is unknown", text.substr(0, 40)));
}

}  // namespace

Result<std::unique_ptr<EpisodeStore>> EpisodeStore::open(const std::filesystem::path& file, DatabaseOptions options) {
  KW_TRY(Database database, Database::open(file, options));
  KW_TRY_VOID(database.migrate(schema));
  return std::unique_ptr<EpisodeStore>(new EpisodeStore(std::move(database)));
}

Result<std::optional<std::int64_t>> EpisodeStore::row_of(const std::string& identity) {
  KW_TRY(Statement query, database_.prepare("SELECT id FROM episodes WHERE identity = ?"));
  KW_TRY_VOID(query.bind(identity));
  KW_TRY(const bool found, query.step());
  return found ? std::optional(query.integer(0)) : std::nullopt;
}

Result<std::int64_t> EpisodeStore::known_row_of(const std::string& identity) {
  KW_TRY(const auto row, row_of(identity));
  if (!row) return Error{"the episode is not in the store", "", {}};
  return *row;
}

Result<std::optional<StoredEpisode>> EpisodeStore::find(const std::string& identity) {
  KW_TRY(const auto row, row_of(identity));
  if (!row) return std::optional<StoredEpisode>();
  StoredEpisode stored;
  KW_TRY(Statement query, database_.prepare("SELECT given_verdict, end, problem, level, given_kernel, task_text "
                                            "FROM episodes WHERE id = ?"));
  KW_TRY_VOID(query.bind(*row));
  KW_TRY(const bool found, query.step());
  if (!found) return damaged("an episode has vanished");
  KW_TRY(stored.given_verdict, verdict_from(query, 0));
  KW_TRY(stored.end, named(query.text(1), EpisodeEnd::refused));
  stored.problem = query.text(2);
  stored.level = query.text(3);
  stored.given_kernel = query.text(4);
  stored.task_text = query.text(5);
  KW_TRY(stored.turns, turns_of(*row));
  return std::optional(std::move(stored));
}

Result<std::vector<Turn>> EpisodeStore::turns_of(std::int64_t row) {
  std::vector<Turn> turns;
  KW_TRY(Statement query, database_.prepare("SELECT turn, role, given_turn, prompt, chosen, seconds FROM turns "
                                            "WHERE episode = ? ORDER BY turn"));
  KW_TRY_VOID(query.bind(row));
  for (;;) {
    KW_TRY(const bool more, query.step());
    if (!more) return turns;
    Turn turn;
    turn.index = static_cast<int>(turns.size());
    const auto role = agent_role_from_string(query.text(1));
    if (query.integer(0) != turn.index || !role) return damaged("a turn is missing");
    turn.role = *role;
    turn.given_turn = static_cast<int>(query.integer(2));
    KW_TRY(turn.prompt, numbers_from<std::int32_t>(query.blob(3)));
    turn.chosen = query.integer(4);
    turn.seconds = query.real(5);
    KW_TRY(turn.samples, samples_of(row, turn.index));
    if (turn.samples.empty() || turn.chosen < 0 || turn.chosen >= static_cast<std::int64_t>(turn.samples.size()) ||
        turn.given_turn >= turn.index || !std::isfinite(turn.seconds))
      return damaged("a turn makes no sense");
    turns.push_back(std::move(turn));
  }
}

Result<std::vector<TurnSample>> EpisodeStore::samples_of(std::int64_t row, int turn) {
  std::vector<TurnSample> samples;
  KW_TRY(Statement query,
         database_.prepare("SELECT sample, tokens, log_probs, finish, weights_version, last_weights_version, text, "
                           "outcome, message, kernel, said, strategies, predicted_correct, skipped, verdict, reward, "
                           "rewarded, usage_prompt, usage_answer, held_to, resampled FROM samples "
                           "WHERE episode = ? AND turn = ? ORDER BY sample"));
  KW_TRY_VOID(query.bind(row, turn));
  for (;;) {
    KW_TRY(const bool more, query.step());
    if (!more) return samples;
    TurnSample sample;
    if (query.integer(0) != static_cast<std::int64_t>(samples.size())) return damaged("a sample is missing");
    KW_TRY(sample.tokens, numbers_from<std::int32_t>(query.blob(1)));
    KW_TRY(sample.log_probs, numbers_from<float>(query.blob(2)));
    if (sample.tokens.size() != sample.log_probs.size()) return damaged("tokens and log-probabilities do not match");
    KW_TRY(sample.finish, named(query.text(3), FinishReason::failed));
    sample.weights_version = query.integer(4);
    sample.last_weights_version = query.integer(5);
    sample.text = text_from(query.blob(6));
    KW_TRY(sample.outcome, named(query.text(7), AnswerOutcome::look_alikes));
    sample.message = query.text(8);
    sample.kernel = query.text(9);
    sample.said = query.text(10);
    KW_TRY(sample.strategies, strategies_from(query.text(11)));
    if (!query.is_null(12)) sample.predicted_correct = query.real(12);
    sample.skipped = query.integer(13) != 0;
    KW_TRY(sample.verdict, verdict_from(query, 14));
    sample.reward = query.real(15);
    sample.rewarded = query.integer(16) != 0;
    sample.usage = {query.integer(17), query.integer(18)};
    sample.held_to = query.text(19);
    sample.resampled = query.integer(20);
    samples.push_back(std::move(sample));
  }
}

Result<void> EpisodeStore::begin(const std::string& identity, const EpisodeRequest& request, const std::string& model) {
  KW_TRY(Statement insert,
         database_.prepare("INSERT INTO episodes (identity, model, task, number, level, given_kernel, end, problem, "
                           "task_text) VALUES (?, ?, ?, ?, ?, ?, 'unfinished', '', ?)"));
  const std::string task = task_json(*request.task).dump(-1, ' ', false, Json::error_handler_t::replace);
  return insert.run(identity, model, request.task->name, request.number, request.level, request.kernel, task);
}

Result<void> EpisodeStore::add_given(const std::string& identity, const Verdict& verdict) {
  KW_TRY(Statement update, database_.prepare("UPDATE episodes SET given_verdict = ? WHERE identity = ?"));
  return update.run(json_text(verdict), identity);
}

Result<void> EpisodeStore::add_turn(const std::string& identity, const Turn& turn) {
  KW_TRY(const std::int64_t row, known_row_of(identity));
  KW_TRY(Transaction transaction, Transaction::begin(database_));
  KW_TRY(Statement insert, database_.prepare("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?)"));
  KW_TRY_VOID(insert.run(row, turn.index, to_string(turn.role), turn.given_turn, bytes_of(turn.prompt), turn.chosen,
                         turn.seconds));
  KW_TRY(
      Statement samples,
      database_.prepare("INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                        "?)"));
  for (std::size_t i = 0; i < turn.samples.size(); ++i) {
    const TurnSample& sample = turn.samples[i];
    const auto run = [&](const auto& predicted, const auto& verdict) {
      return samples.run(row, turn.index, i, bytes_of(sample.tokens), bytes_of(sample.log_probs),
                         to_string(sample.finish), sample.weights_version, sample.last_weights_version,
                         std::as_bytes(std::span(sample.text)), to_string(sample.outcome), sample.message,
                         sample.kernel, sample.said, joined(sample.strategies), predicted, sample.skipped, verdict,
                         sample.reward, sample.rewarded, sample.usage.prompt_tokens, sample.usage.answer_tokens,
                         sample.held_to, sample.resampled);
    };
    // The Tester's probability is NaN, and so NULL, where it was not asked.
    const double predicted = sample.predicted_correct.value_or(std::nan(""));
    KW_TRY_VOID(sample.verdict ? run(predicted, json_text(*sample.verdict)) : run(predicted, nullptr));
  }
  return transaction.commit();
}

Result<void> EpisodeStore::finish(const std::string& identity, const Episode& episode) {
  KW_TRY(Statement update, database_.prepare("UPDATE episodes SET end = ?, problem = ?, best_turn = ?, "
                                             "best_speedup = ? WHERE identity = ?"));
  const auto run = [&](const auto& turn, double speedup) {
    return update.run(to_string(episode.end), episode.problem, turn, speedup, identity);
  };
  if (!episode.best) return run(nullptr, std::nan(""));
  return run(*episode.best, verdict_of(episode, *episode.best).speedup_naive.value_or(std::nan("")));
}

Result<std::vector<StoredSummary>> EpisodeStore::list() {
  std::vector<StoredSummary> list;
  KW_TRY(Statement query, database_.prepare("SELECT identity, task, model, number, end, best_speedup, (SELECT count(*) "
                                            "FROM turns WHERE episode = id) FROM episodes ORDER BY id"));
  KW_TRY_VOID(query.bind());
  for (;;) {
    KW_TRY(const bool more, query.step());
    if (!more) return list;
    StoredSummary summary;
    summary.identity = query.text(0);
    summary.task = query.text(1);
    summary.model = query.text(2);
    summary.number = query.integer(3);
    KW_TRY(summary.end, named(query.text(4), EpisodeEnd::refused));
    if (!query.is_null(5)) summary.best_speedup = query.real(5);
    summary.turns = query.integer(6);
    list.push_back(std::move(summary));
  }
}

}  // namespace kw
