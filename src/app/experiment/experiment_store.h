#pragma once
// Experiments in one SQLite file: definitions, where each stands, one row for each exposure and each outcome, and the
// audit trail. Exposures, outcomes and the trail are only ever added to. What a call that returns has written survives
// kill -9 and, unless asked otherwise, loss of power.
//
// Several processes may use one file (a server, and a person who aborts on the command line): whoever writes holds the
// lock of the file, reads what the others wrote, and only then decides. LiveExperiment does that.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/experiment/controller.h"
#include "app/experiment/definition.h"
#include "base/database/database.h"
#include "base/result.h"

namespace kw {

// How many exposures or outcomes one transaction may take.
inline constexpr std::size_t max_batch_rows = 1000;

struct ExperimentRecord {
  std::int64_t id = 0;
  ExperimentDefinition definition;
  Standing standing;
  std::int64_t revision = 0;            // counts changes of the standing
  double created_s = 0, updated_s = 0;  // since 1970
};

struct ExposureRow {
  std::int64_t id = 0;
  std::string user;
  std::string request;  // the service's name of the request; may be empty
  std::size_t arm = 0, stage = 0;
  bool first_of_user = false;  // set by the store
  double time_s = 0;
};

struct OutcomeRow {
  std::int64_t id = 0;
  std::int64_t exposure = 0;
  Outcome outcome;
  double time_s = 0;
  // Of the exposure; for rows that were read.
  std::size_t arm = 0, stage = 0;
  bool first_of_user = false;
};

struct AuditRow {
  std::int64_t id = 0;
  double time_s = 0;
  std::string actor;  // "controller", or a person
  std::string action, reason;
  std::string from_state, to_state;
  std::size_t stage = 0;  // after it
};

class ExperimentStore {
 public:
  static Result<ExperimentStore> open(const std::filesystem::path& file,
                                      DatabaseOptions options = {.durability = Durability::power_loss});

  // A draft. A name that is taken is an error.
  Result<ExperimentRecord> create(const ExperimentDefinition& definition, const std::string& actor, double now_s);
  Result<ExperimentRecord> named(std::string_view name);
  Result<std::vector<ExperimentRecord>> list();  // the newest last
  Result<std::vector<AuditRow>> audit(std::int64_t experiment);
  Result<std::int64_t> exposures_without_outcome(std::int64_t experiment);

  // For LiveExperiment, inside its transaction.
  Result<Transaction> begin() { return Transaction::begin(database_); }
  Result<ExperimentRecord> record(std::int64_t experiment);
  Result<std::int64_t> revision(std::int64_t experiment);
  Result<void> add_exposure(std::int64_t experiment, ExposureRow& row);  // fills in id and first_of_user
  // An outcome of an exposure that has one, or that there is not, is an error. Fills in what the exposure knows.
  Result<void> add_outcome(std::int64_t experiment, OutcomeRow& row);
  Result<void> change(const ExperimentRecord& before, const Transition& transition, const std::string& actor,
                      double now_s);
  // Rows after an id, in order.
  Result<void> exposures_after(std::int64_t experiment, std::int64_t id,
                               const std::function<void(const ExposureRow&)>& visit);
  Result<void> outcomes_after(std::int64_t experiment, std::int64_t id,
                              const std::function<void(const OutcomeRow&)>& visit);
  Result<std::vector<std::int64_t>> exposures_overdue(std::int64_t experiment, double before_s, std::size_t most);

 private:
  explicit ExperimentStore(Database database) : database_(std::move(database)) {}
  Result<ExperimentRecord> read_record(const Statement& row) const;
  Result<void> add_audit(std::int64_t experiment, const AuditRow& row);

  Database database_;
};

}  // namespace kw
