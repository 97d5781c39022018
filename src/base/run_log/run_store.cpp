#include "base/run_log/run_store.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "base/run_log/json_text.h"

namespace kw {
namespace {

constexpr std::array<std::string_view, 1> schema = {R"(
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, folder TEXT NOT NULL, status TEXT NOT NULL,
  started_s REAL NOT NULL, updated_s REAL NOT NULL, busy_s REAL NOT NULL,
  configuration TEXT NOT NULL, machine TEXT NOT NULL, summary TEXT NOT NULL) STRICT;
CREATE TABLE metric_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
-- A value of NULL is NaN.
CREATE TABLE metrics (
  run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, metric INTEGER NOT NULL REFERENCES metric_names(id),
  step INTEGER NOT NULL, value REAL, PRIMARY KEY (run, metric, step)) STRICT, WITHOUT ROWID;
CREATE TABLE texts (
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, step INTEGER NOT NULL,
  tag TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX texts_of_run ON texts (run, step);
)"};

constexpr std::string_view all_columns =
    "SELECT id, name, kind, folder, status, started_s, updated_s, busy_s, configuration, machine, summary, "
    "(SELECT max(step) FROM metrics WHERE run = runs.id) FROM runs ";

nlohmann::ordered_json json_or_null(std::string_view text) {
  auto json = parse_bounded_ordered_json(text, stored_json);
  return json.ok() ? std::move(*json) : nlohmann::ordered_json();
}

}  // namespace

Result<RunStore> RunStore::open(const std::filesystem::path& runs_folder, DatabaseOptions options) {
  KW_TRY(Database database, Database::open(runs_folder / "runs.db", options));
  KW_TRY_VOID(database.migrate(schema));
  return RunStore(std::move(database));
}

Result<std::vector<RunRecord>> RunStore::records(Statement& query) {
  std::vector<RunRecord> records;
  for (;;) {
    KW_TRY(const bool row, query.step());
    if (!row) return records;
    records.push_back({.id = query.integer(0),
                       .name = std::string(query.text(1)),
                       .kind = std::string(query.text(2)),
                       .folder = std::string(query.text(3)),
                       .status = std::string(query.text(4)),
                       .started_s = query.real(5),
                       .updated_s = query.real(6),
                       .busy_s = query.real(7),
                       .last_step = query.is_null(11) ? -1 : query.integer(11),
                       .configuration = json_or_null(query.text(8)),
                       .machine = json_or_null(query.text(9)),
                       .summary = json_or_null(query.text(10))});
  }
}

Result<std::vector<RunRecord>> RunStore::list() {
  KW_TRY(Statement query, database_.prepare(std::string(all_columns) + "ORDER BY started_s, id"));
  KW_TRY_VOID(query.bind());
  return records(query);
}

Result<std::optional<RunRecord>> RunStore::find(std::string_view name) {
  KW_TRY(Statement query, database_.prepare(std::string(all_columns) + "WHERE name = ?"));
  KW_TRY_VOID(query.bind(name));
  KW_TRY(std::vector<RunRecord> found, records(query));
  if (found.empty()) return std::optional<RunRecord>();
  return std::optional(std::move(found.front()));
}

Result<RunRecord> RunStore::named(std::string_view name) {
  KW_TRY(auto exact, find(name));
  if (exact) return std::move(*exact);
  KW_TRY(auto all, list());
  std::erase_if(all, [&](const RunRecord& run) { return !run.name.starts_with(name); });
  if (all.size() == 1) return std::move(all.front());
  if (all.empty()) return Error{fmt::format("there is no run '{}'", name), "see kernelwright runs list", {}};
  return Error{fmt::format("'{}' may be {} or {}", name, all[0].name, all[1].name), "write more of the name", {}};
}

Result<std::vector<std::string>> RunStore::metric_names(std::int64_t run) {
  KW_TRY(Statement query,
         database_.prepare("SELECT name FROM metric_names WHERE EXISTS (SELECT 1 FROM metrics WHERE run "
                           "= ? AND metric = metric_names.id) ORDER BY name"));
  KW_TRY_VOID(query.bind(run));
  std::vector<std::string> names;
  for (;;) {
    KW_TRY(const bool row, query.step());
    if (!row) return names;
    names.emplace_back(query.text(0));
  }
}

Result<MetricSeries> RunStore::series(std::int64_t run, std::string_view metric) {
  KW_TRY(
      Statement query,
      database_.prepare("SELECT step, value FROM metrics WHERE run = ? AND metric = (SELECT id FROM metric_names WHERE "
                        "name = ?) ORDER BY step"));
  KW_TRY_VOID(query.bind(run, metric));
  MetricSeries series;
  for (;;) {
    KW_TRY(const bool row, query.step());
    if (!row) return series;
    series.emplace_back(query.integer(0), query.real(1));
  }
}

Result<RunSteps> RunStore::steps_after(std::int64_t run, std::int64_t step) {
  KW_TRY(Statement query, database_.prepare("SELECT step, name, value FROM metrics JOIN metric_names ON metric = id "
                                            "WHERE run = ? AND step > ? ORDER BY step, name"));
  KW_TRY_VOID(query.bind(run, step));
  constexpr std::size_t most_steps = 1000;
  RunSteps steps;
  for (;;) {
    KW_TRY(const bool row, query.step());
    if (!row) return steps;
    const std::int64_t at = query.integer(0);
    if (steps.empty() || steps.back().first != at) {
      if (steps.size() == most_steps) return steps;
      steps.emplace_back(at, std::vector<std::pair<std::string, double>>{});
    }
    steps.back().second.emplace_back(std::string(query.text(1)), query.real(2));
  }
}

Result<std::vector<RunText>> RunStore::texts(std::int64_t run) {
  KW_TRY(Statement query, database_.prepare("SELECT step, tag, text FROM texts WHERE run = ? ORDER BY step, id"));
  KW_TRY_VOID(query.bind(run));
  std::vector<RunText> texts;
  for (;;) {
    KW_TRY(const bool row, query.step());
    if (!row) return texts;
    texts.push_back({query.integer(0), std::string(query.text(1)), std::string(query.text(2))});
  }
}

Result<std::int64_t> RunStore::add(const RunRecord& record) {
  KW_TRY(const auto existing, find(record.name));
  if (existing) return Error{"there is a run '" + record.name + "' already", "choose another name, or resume it", {}};
  KW_TRY(Statement insert,
         database_.prepare("INSERT INTO runs (name, kind, folder, status, started_s, updated_s, busy_s, "
                           "configuration, machine, summary) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  KW_TRY_VOID(insert.run(record.name, record.kind, record.folder.string(), record.status, record.started_s,
                         record.updated_s, record.busy_s, json_text(record.configuration), json_text(record.machine),
                         json_text(record.summary)));
  return database_.last_row_id();
}

Result<void> RunStore::update(const RunRecord& record) {
  KW_TRY(Statement change,
         database_.prepare(
             "UPDATE runs SET kind = ?, folder = ?, status = ?, updated_s = ?, busy_s = ?, configuration = ?, "
             "machine = ?, summary = ? WHERE id = ?"));
  return change.run(record.kind, record.folder.string(), record.status, record.updated_s, record.busy_s,
                    json_text(record.configuration), json_text(record.machine), json_text(record.summary), record.id);
}

Result<void> RunStore::add_metrics(std::int64_t run, std::int64_t step,
                                   const std::vector<std::pair<std::string, double>>& metrics, double now_s) {
  KW_TRY(Transaction transaction, Transaction::begin(database_));
  KW_TRY(Statement name, database_.prepare("INSERT OR IGNORE INTO metric_names (name) VALUES (?)"));
  KW_TRY(Statement value,
         database_.prepare("INSERT OR REPLACE INTO metrics (run, metric, step, value) VALUES (?, (SELECT "
                           "id FROM metric_names WHERE name = ?), ?, ?)"));
  KW_TRY(Statement touch, database_.prepare("UPDATE runs SET updated_s = ? WHERE id = ?"));
  for (const auto& [metric, number] : metrics) {
    KW_TRY_VOID(name.run(metric));
    KW_TRY_VOID(value.run(run, metric, step, number));
  }
  KW_TRY_VOID(touch.run(now_s, run));
  return transaction.commit();
}

Result<void> RunStore::add_text(std::int64_t run, const RunText& text) {
  KW_TRY(Statement insert, database_.prepare("INSERT INTO texts (run, step, tag, text) VALUES (?, ?, ?, ?)"));
  return insert.run(run, text.step, text.tag, text.text);
}

Result<void> RunStore::drop_after(std::int64_t run, std::int64_t step) {
  KW_TRY(Transaction transaction, Transaction::begin(database_));
  KW_TRY(Statement metrics, database_.prepare("DELETE FROM metrics WHERE run = ? AND step > ?"));
  KW_TRY_VOID(metrics.run(run, step));
  KW_TRY(Statement texts, database_.prepare("DELETE FROM texts WHERE run = ? AND step > ?"));
  KW_TRY_VOID(texts.run(run, step));
  return transaction.commit();
}

}  // namespace kw
