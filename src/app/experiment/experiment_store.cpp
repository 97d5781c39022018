#include "app/experiment/experiment_store.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace kw {
namespace {

// `stopped` has a bit for each arm.
constexpr std::array<std::string_view, 1> experiment_schema = {R"(
CREATE TABLE experiments (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, definition TEXT NOT NULL, state TEXT NOT NULL,
  stage INTEGER NOT NULL, stopped INTEGER NOT NULL, winner INTEGER NOT NULL, revision INTEGER NOT NULL,
  created_s REAL NOT NULL, updated_s REAL NOT NULL) STRICT;
CREATE TABLE exposures (
  id INTEGER PRIMARY KEY, experiment INTEGER NOT NULL REFERENCES experiments(id), user TEXT NOT NULL,
  request TEXT NOT NULL, arm INTEGER NOT NULL, stage INTEGER NOT NULL, first_of_user INTEGER NOT NULL,
  time_s REAL NOT NULL) STRICT;
CREATE INDEX exposures_of_user ON exposures (experiment, user);
CREATE TABLE outcomes (
  id INTEGER PRIMARY KEY, experiment INTEGER NOT NULL REFERENCES experiments(id),
  exposure INTEGER NOT NULL UNIQUE REFERENCES exposures(id), time_s REAL NOT NULL, error INTEGER NOT NULL,
  compiled INTEGER NOT NULL, correct INTEGER NOT NULL, speedup REAL, turns REAL, latency_ms REAL, tokens REAL) STRICT;
CREATE TABLE audit (
  id INTEGER PRIMARY KEY, experiment INTEGER NOT NULL REFERENCES experiments(id), time_s REAL NOT NULL,
  actor TEXT NOT NULL, action TEXT NOT NULL, reason TEXT NOT NULL, from_state TEXT NOT NULL, to_state TEXT NOT NULL,
  stage INTEGER NOT NULL) STRICT;
)"};

constexpr std::string_view experiment_columns =
    "SELECT id, definition, state, stage, stopped, winner, revision, created_s, updated_s FROM experiments ";

std::int64_t bits_of(const std::vector<bool>& stopped) {
  std::int64_t bits = 0;
  for (std::size_t arm = 0; arm < stopped.size(); ++arm) bits |= std::int64_t{stopped[arm]} << arm;
  return bits;
}

std::optional<double> value_or_nothing(const Statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(row.real(column));
}

// NaN is stored as NULL.
double value_or_nan(const std::optional<double>& value) { return value.value_or(std::nan("")); }

}  // namespace

Result<ExperimentStore> ExperimentStore::open(const std::filesystem::path& file, DatabaseOptions options) {
  KW_TRY(Database database, Database::open(file, options));
  KW_TRY_VOID(database.migrate(experiment_schema));
  return ExperimentStore(std::move(database));
}

// The file may be damaged or anybody's: what does not fit together is an error.
Result<ExperimentRecord> ExperimentStore::read_record(const Statement& row) const {
  ExperimentRecord record;
  record.id = row.integer(0);
  KW_TRY(record.definition, parse_experiment(row.text(1), fmt::format("experiment {} of the store", record.id)));
  const auto state = experiment_state_named(row.text(2));
  const std::size_t arms = record.definition.arms.size(), stages = record.definition.ramp_percent.size();
  const auto stage = row.integer(3), winner = row.integer(5);
  if (!state || stage < 0 || static_cast<std::size_t>(stage) >= stages || winner < 0 ||
      static_cast<std::size_t>(winner) >= arms)
    return Error{fmt::format("the store is damaged: experiment {} has a state that it cannot have", record.id), "", {}};
  record.standing = {*state, static_cast<std::size_t>(stage), {}, static_cast<std::size_t>(winner)};
  for (std::size_t arm = 0; arm < arms; ++arm) record.standing.stopped.push_back((row.integer(4) >> arm & 1) != 0);
  record.revision = row.integer(6);
  record.created_s = row.real(7);
  record.updated_s = row.real(8);
  return record;
}

Result<ExperimentRecord> ExperimentStore::create(const ExperimentDefinition& definition, const std::string& actor,
                                                 double now_s) {
  const std::string text = to_json(definition).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  // Also refuses what a caller put together and no file could say.
  KW_TRY(const ExperimentDefinition stored, parse_experiment(text, definition.name));
  KW_TRY(Transaction transaction, begin());
  KW_TRY(Statement taken, database_.prepare("SELECT 1 FROM experiments WHERE name = ?"));
  KW_TRY_VOID(taken.bind(stored.name));
  KW_TRY(const bool exists, taken.step());
  if (exists) return Error{"there is an experiment '" + stored.name + "' already", "choose another name", {}};
  KW_TRY(Statement insert,
         database_.prepare("INSERT INTO experiments (name, definition, state, stage, stopped, winner, revision, "
                           "created_s, updated_s) VALUES (?, ?, ?, 0, 0, 0, 0, ?, ?)"));
  KW_TRY_VOID(insert.run(stored.name, text, to_string(ExperimentState::draft), now_s, now_s));
  const std::int64_t id = database_.last_row_id();
  const std::string draft(to_string(ExperimentState::draft));
  KW_TRY_VOID(add_audit(
      id, {.time_s = now_s, .actor = actor, .action = "create", .reason = "", .from_state = "", .to_state = draft}));
  KW_TRY(ExperimentRecord made, record(id));
  KW_TRY_VOID(transaction.commit());
  return made;
}

Result<ExperimentRecord> ExperimentStore::named(std::string_view name) {
  KW_TRY(Statement query, database_.prepare(std::string(experiment_columns) + "WHERE name = ?"));
  KW_TRY_VOID(query.bind(name));
  KW_TRY(const bool row, query.step());
  if (!row) return Error{fmt::format("there is no experiment '{}'", name), "see kernelwright experiment list", {}};
  return read_record(query);
}

Result<ExperimentRecord> ExperimentStore::record(std::int64_t experiment) {
  KW_TRY(Statement query, database_.prepare(std::string(experiment_columns) + "WHERE id = ?"));
  KW_TRY_VOID(query.bind(experiment));
  KW_TRY(const bool row, query.step());
  if (!row) return Error{fmt::format("there is no experiment {} in the store", experiment), "", {}};
  return read_record(query);
}

Result<std::int64_t> ExperimentStore::revision(std::int64_t experiment) {
  KW_TRY(Statement query, database_.prepare("SELECT revision FROM experiments WHERE id = ?"));
  KW_TRY_VOID(query.bind(experiment));
  KW_TRY(const bool row, query.step());
  if (!row) return Error{fmt::format("there is no experiment {} in the store", experiment), "", {}};
  return query.integer(0);
}

Result<std::vector<ExperimentRecord>> ExperimentStore::list() {
  KW_TRY(Statement query, database_.prepare(std::string(experiment_columns) + "ORDER BY id"));
  KW_TRY_VOID(query.bind());
  std::vector<ExperimentRecord> records;
  for (;;) {
    KW_TRY(const bool row, query.step());
    if (!row) return records;
    KW_TRY(ExperimentRecord one, read_record(query));
    records.push_back(std::move(one));
  }
}

Result<void> ExperimentStore::add_exposure(std::int64_t experiment, ExposureRow& row) {
  KW_TRY(Statement seen, database_.prepare("SELECT 1 FROM exposures WHERE experiment = ? AND user = ? LIMIT 1"));
  KW_TRY_VOID(seen.bind(experiment, row.user));
  KW_TRY(const bool exists, seen.step());
  row.first_of_user = !exists;
  KW_TRY(Statement insert,
         database_.prepare("INSERT INTO exposures (experiment, user, request, arm, stage, first_of_user, "
                           "time_s) VALUES (?, ?, ?, ?, ?, ?, ?)"));
  KW_TRY_VOID(insert.run(experiment, row.user, row.request, row.arm, row.stage, row.first_of_user, row.time_s));
  row.id = database_.last_row_id();
  return {};
}

Result<void> ExperimentStore::add_outcome(std::int64_t experiment, OutcomeRow& row) {
  KW_TRY(Statement find, database_.prepare("SELECT arm, stage, first_of_user, (SELECT 1 FROM outcomes WHERE exposure = "
                                           "exposures.id) FROM exposures WHERE id = ? AND experiment = ?"));
  KW_TRY_VOID(find.bind(row.exposure, experiment));
  KW_TRY(const bool exists, find.step());
  if (!exists) return Error{fmt::format("there is no exposure {} in this experiment", row.exposure), "", {}};
  if (!find.is_null(3)) return Error{fmt::format("exposure {} has an outcome already", row.exposure), "", {}};
  row.arm = static_cast<std::size_t>(find.integer(0));
  row.stage = static_cast<std::size_t>(find.integer(1));
  row.first_of_user = find.integer(2) != 0;
  KW_TRY(
      Statement insert,
      database_.prepare("INSERT INTO outcomes (experiment, exposure, time_s, error, compiled, correct, speedup, turns, "
                        "latency_ms, tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  const Outcome& outcome = row.outcome;
  KW_TRY_VOID(insert.run(experiment, row.exposure, row.time_s, outcome.error, outcome.compiled, outcome.correct,
                         value_or_nan(outcome.speedup), value_or_nan(outcome.turns), value_or_nan(outcome.latency_ms),
                         value_or_nan(outcome.tokens)));
  row.id = database_.last_row_id();
  return {};
}

Result<void> ExperimentStore::add_audit(std::int64_t experiment, const AuditRow& row) {
  KW_TRY(Statement insert,
         database_.prepare("INSERT INTO audit (experiment, time_s, actor, action, reason, from_state, "
                           "to_state, stage) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  return insert.run(experiment, row.time_s, row.actor, row.action, row.reason, row.from_state, row.to_state, row.stage);
}

Result<void> ExperimentStore::change(const ExperimentRecord& before, const Transition& transition,
                                     const std::string& actor, double now_s) {
  KW_TRY(Statement update,
         database_.prepare("UPDATE experiments SET state = ?, stage = ?, stopped = ?, winner = ?, revision = "
                           "revision + 1, updated_s = ? WHERE id = ?"));
  const Standing& to = transition.to;
  KW_TRY_VOID(update.run(to_string(to.state), to.stage, bits_of(to.stopped), to.winner, now_s, before.id));
  return add_audit(before.id, {.time_s = now_s,
                               .actor = actor,
                               .action = transition.action,
                               .reason = transition.reason,
                               .from_state = std::string(to_string(before.standing.state)),
                               .to_state = std::string(to_string(to.state)),
                               .stage = to.stage});
}

Result<void> ExperimentStore::exposures_after(std::int64_t experiment, std::int64_t id,
                                              const std::function<void(const ExposureRow&)>& visit) {
  KW_TRY(Statement query,
         database_.prepare("SELECT id, user, request, arm, stage, first_of_user, time_s FROM exposures WHERE "
                           "id > ? AND experiment = ? ORDER BY id"));
  KW_TRY_VOID(query.bind(id, experiment));
  for (;;) {
    KW_TRY(const bool row, query.step());
    if (!row) return {};
    visit({.id = query.integer(0),
           .user = std::string(query.text(1)),
           .request = std::string(query.text(2)),
           .arm = static_cast<std::size_t>(query.integer(3)),
           .stage = static_cast<std::size_t>(query.integer(4)),
           .first_of_user = query.integer(5) != 0,
           .time_s = query.real(6)});
  }
}

Result<void> ExperimentStore::outcomes_after(std::int64_t experiment, std::int64_t id,
                                             const std::function<void(const OutcomeRow&)>& visit) {
  KW_TRY(
      Statement query,
      database_.prepare("SELECT o.id, o.exposure, o.time_s, o.error, o.compiled, o.correct, o.speedup, o.turns, "
                        "o.latency_ms, o.tokens, e.arm, e.stage, e.first_of_user FROM outcomes o JOIN exposures e ON "
                        "e.id = o.exposure WHERE o.id > ? AND o.experiment = ? ORDER BY o.id"));
  KW_TRY_VOID(query.bind(id, experiment));
  for (;;) {
    KW_TRY(const bool row, query.step());
    if (!row) return {};
    OutcomeRow one{.id = query.integer(0), .exposure = query.integer(1), .outcome = {}, .time_s = query.real(2)};
    one.outcome = {.error = query.integer(3) != 0,
                   .compiled = query.integer(4) != 0,
                   .correct = query.integer(5) != 0,
                   .speedup = value_or_nothing(query, 6),
                   .turns = value_or_nothing(query, 7),
                   .latency_ms = value_or_nothing(query, 8),
                   .tokens = value_or_nothing(query, 9)};
    one.arm = static_cast<std::size_t>(query.integer(10));
    one.stage = static_cast<std::size_t>(query.integer(11));
    one.first_of_user = query.integer(12) != 0;
    visit(one);
  }
}

Result<std::vector<std::int64_t>> ExperimentStore::exposures_overdue(std::int64_t experiment, double before_s,
                                                                     std::size_t most) {
  KW_TRY(Statement query,
         database_.prepare("SELECT id FROM exposures e WHERE experiment = ? AND time_s < ? AND NOT EXISTS "
                           "(SELECT 1 FROM outcomes WHERE exposure = e.id) ORDER BY id LIMIT ?"));
  KW_TRY_VOID(query.bind(experiment, before_s, most));
  std::vector<std::int64_t> ids;
  for (;;) {
    KW_TRY(const bool row, query.step());
    if (!row) return ids;
    ids.push_back(query.integer(0));
  }
}

Result<std::int64_t> ExperimentStore::exposures_without_outcome(std::int64_t experiment) {
  KW_TRY(Statement query,
         database_.prepare("SELECT (SELECT count(*) FROM exposures WHERE experiment = ?1) - (SELECT count(*) "
                           "FROM outcomes WHERE experiment = ?1)"));
  KW_TRY_VOID(query.bind(experiment));
  KW_TRY(const bool row, query.step());
  return row ? query.integer(0) : 0;
}

Result<std::vector<AuditRow>> ExperimentStore::audit(std::int64_t experiment) {
  KW_TRY(Statement query,
         database_.prepare("SELECT id, time_s, actor, action, reason, from_state, to_state, stage FROM audit "
                           "WHERE experiment = ? ORDER BY id"));
  KW_TRY_VOID(query.bind(experiment));
  std::vector<AuditRow> rows;
  for (;;) {
    KW_TRY(const bool row, query.step());
    if (!row) return rows;
    rows.push_back({.id = query.integer(0),
                    .time_s = query.real(1),
                    .actor = std::string(query.text(2)),
                    .action = std::string(query.text(3)),
                    .reason = std::string(query.text(4)),
                    .from_state = std::string(query.text(5)),
                    .to_state = std::string(query.text(6)),
                    .stage = static_cast<std::size_t>(query.integer(7))});
  }
}

}  // namespace kw
