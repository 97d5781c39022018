#pragma once
// All runs of a folder in one SQLite file, runs.db: what was run where with which configuration, metrics by step,
// texts. RunLog writes it; `kernelwright runs`, evaluation and reports read it.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/database/database.h"
#include "base/result.h"

namespace kw {

struct RunRecord {
  std::int64_t id = 0;
  std::string name;
  std::string kind;
  std::filesystem::path folder;
  std::string status;                   // "running" until finish(); what finish() says afterwards
  double started_s = 0, updated_s = 0;  // since 1970
  double busy_s = 0;                    // time it ran, over all resumptions
  std::int64_t last_step = -1;          // -1: nothing was logged
  nlohmann::ordered_json configuration, machine, summary;
};

using MetricSeries = std::vector<std::pair<std::int64_t, double>>;  // by step

// What was logged at steps, in their order.
using RunSteps = std::vector<std::pair<std::int64_t, std::vector<std::pair<std::string, double>>>>;

struct RunText {
  std::int64_t step = 0;
  std::string tag, text;
};

class RunStore {
 public:
  static Result<RunStore> open(const std::filesystem::path& runs_folder, DatabaseOptions options = {});

  Result<std::vector<RunRecord>> list();  // the newest last
  Result<std::optional<RunRecord>> find(std::string_view name);
  // By its name, or by the only name that begins so; an error that a person can act on otherwise.
  Result<RunRecord> named(std::string_view name);
  Result<std::vector<std::string>> metric_names(std::int64_t run);
  Result<MetricSeries> series(std::int64_t run, std::string_view metric);
  // All metrics of the steps after `step`, at most 1,000 of them.
  Result<RunSteps> steps_after(std::int64_t run, std::int64_t step);
  Result<std::vector<RunText>> texts(std::int64_t run);

  // For the log. A name that is taken is an error.
  Result<std::int64_t> add(const RunRecord& record);
  Result<void> update(const RunRecord& record);
  Result<void> add_metrics(std::int64_t run, std::int64_t step,
                           const std::vector<std::pair<std::string, double>>& metrics, double now_s);
  Result<void> add_text(std::int64_t run, const RunText& text);
  Result<void> drop_after(std::int64_t run, std::int64_t step);
  Result<void> sync() { return database_.checkpoint(); }

 private:
  explicit RunStore(Database database) : database_(std::move(database)) {}
  Result<std::vector<RunRecord>> records(Statement& query);

  Database database_;
};

}  // namespace kw
