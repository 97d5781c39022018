#include "agents/search/search_record.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 2> schema{R"(
CREATE TABLE searches (
  id INTEGER PRIMARY KEY,
  identity TEXT NOT NULL UNIQUE,  -- of all that its decisions depend on
  task TEXT NOT NULL,
  seconds REAL NOT NULL           -- that it took so far
);
CREATE TABLE search_answers (
  search INTEGER NOT NULL REFERENCES searches(id),
  questions TEXT NOT NULL,        -- a hash of what was asked
  kernels TEXT NOT NULL,          -- JSON: by question and sample
  PRIMARY KEY (search, questions)
) WITHOUT ROWID;
CREATE TABLE search_codes (
  search INTEGER NOT NULL,
  kernel TEXT NOT NULL,
  code TEXT NOT NULL,             -- empty: it cannot be built
  PRIMARY KEY (search, kernel)
) WITHOUT ROWID;
CREATE TABLE search_verdicts (
  search INTEGER NOT NULL,
  kernel TEXT NOT NULL,
  measurement INTEGER NOT NULL,   -- 0: the judge's verdict; else the n-th measurement on the GPU
  verdict TEXT NOT NULL,          -- JSON
  PRIMARY KEY (search, kernel, measurement)
) WITHOUT ROWID;
CREATE TABLE search_rounds (
  search INTEGER NOT NULL,
  round INTEGER NOT NULL,
  seconds REAL NOT NULL,
  PRIMARY KEY (search, round)
) WITHOUT ROWID;
)",
                                                 R"(
ALTER TABLE search_codes ADD COLUMN modelled_us REAL NOT NULL DEFAULT 0;  -- 0: not known
ALTER TABLE search_codes ADD COLUMN input_bytes REAL NOT NULL DEFAULT 0;
)"};

Error damaged(const std::string& what) {
  return {"the record of the search is damaged: " + what, "use another file", {}};
}

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Result<AnsweredKernels> answers_from(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_array()) return damaged("answers are no list");
  AnsweredKernels answers;
  for (const Json& question : json) {
    if (!question.is_array()) return damaged("a question's answers are no list");
    std::vector<std::string>& kernels = answers.emplace_back();
    for (const Json& kernel : question) {
      if (!kernel.is_string()) return damaged("an answer is no text");
      kernels.push_back(kernel.get<std::string>());
    }
  }
  return answers;
}

}  // namespace

std::unique_ptr<SearchRecord> SearchRecord::in_memory() { return std::unique_ptr<SearchRecord>(new SearchRecord); }

Result<std::unique_ptr<SearchRecord>> SearchRecord::open(const std::filesystem::path& file, const std::string& identity,
                                                         const std::string& task) {
  KW_TRY(Database database, Database::open(file));
  KW_TRY_VOID(database.migrate(schema));
  auto record = in_memory();
  record->database_ = std::make_unique<Database>(std::move(database));
  KW_TRY(Statement query, record->database_->prepare("SELECT id, seconds FROM searches WHERE identity = ?"));
  KW_TRY_VOID(query.bind(identity));
  KW_TRY(const bool found, query.step());
  if (found) {
    record->search_ = query.integer(0);
    record->seconds_ = query.real(1);
    KW_TRY_VOID(record->load());
    return record;
  }
  KW_TRY(Statement insert,
         record->database_->prepare("INSERT INTO searches (identity, task, seconds) VALUES (?, ?, 0)"));
  KW_TRY_VOID(insert.run(identity, task));
  record->search_ = record->database_->last_row_id();
  return record;
}

Result<void> SearchRecord::load() {
  KW_TRY(Statement answers, database_->prepare("SELECT questions, kernels FROM search_answers WHERE search = ?"));
  KW_TRY_VOID(answers.bind(search_));
  for (;;) {
    KW_TRY(const bool more, answers.step());
    if (!more) break;
    KW_TRY(answers_[std::string(answers.text(0))], answers_from(answers.text(1)));
  }
  KW_TRY(Statement looks,
         database_->prepare("SELECT kernel, code, modelled_us, input_bytes FROM search_codes WHERE search = ?"));
  KW_TRY_VOID(looks.bind(search_));
  for (;;) {
    KW_TRY(const bool more, looks.step());
    if (!more) break;
    looks_[std::string(looks.text(0))] = {std::string(looks.text(1)), looks.real(2), looks.real(3)};
  }
  KW_TRY(Statement verdicts,
         database_->prepare("SELECT kernel, measurement, verdict FROM search_verdicts WHERE search = ?"));
  KW_TRY_VOID(verdicts.bind(search_));
  for (;;) {
    KW_TRY(const bool more, verdicts.step());
    if (!more) break;
    const Json json = Json::parse(verdicts.text(2), nullptr, false);
    if (json.is_discarded()) return damaged("a verdict is no JSON");
    auto verdict = verdict_from_json(json);
    if (!verdict.ok()) return damaged(verdict.error().message);
    verdicts_[{std::string(verdicts.text(0)), static_cast<int>(verdicts.integer(1))}] =
        std::make_shared<const Verdict>(std::move(verdict).value());
  }
  KW_TRY(Statement rounds,
         database_->prepare("SELECT round, seconds FROM search_rounds WHERE search = ? ORDER BY round"));
  KW_TRY_VOID(rounds.bind(search_));
  for (;;) {
    KW_TRY(const bool more, rounds.step());
    if (!more) break;
    if (rounds.integer(0) != static_cast<std::int64_t>(round_ends_.size())) return damaged("a round is missing");
    round_ends_.push_back(rounds.real(1));
  }
  return {};
}

const AnsweredKernels* SearchRecord::answers(const std::string& questions) const {
  const auto found = answers_.find(questions);
  return found == answers_.end() ? nullptr : &found->second;
}

Result<void> SearchRecord::add_answers(const std::string& questions, AnsweredKernels answers) {
  if (database_) {
    Json json = Json::array();
    for (const auto& question : answers) json.push_back(question);
    KW_TRY(Statement insert,
           database_->prepare("INSERT OR REPLACE INTO search_answers (search, questions, kernels) VALUES (?, ?, ?)"));
    KW_TRY_VOID(insert.run(search_, questions, dumped(json)));
  }
  answers_[questions] = std::move(answers);
  return {};
}

const KernelLook* SearchRecord::look(const std::string& kernel) const {
  const auto found = looks_.find(kernel);
  return found == looks_.end() ? nullptr : &found->second;
}

Result<void> SearchRecord::add_looks(const std::vector<std::string>& kernels, const std::vector<KernelLook>& looks) {
  if (database_) {
    KW_TRY(Transaction transaction, Transaction::begin(*database_));
    KW_TRY(Statement insert,
           database_->prepare("INSERT OR REPLACE INTO search_codes (search, kernel, code, modelled_us, input_bytes) "
                              "VALUES (?, ?, ?, ?, ?)"));
    for (std::size_t i = 0; i < kernels.size(); ++i)
      KW_TRY_VOID(insert.run(search_, kernels[i], looks.at(i).code, looks.at(i).modelled_us, looks.at(i).input_bytes));
    KW_TRY_VOID(transaction.commit());
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) looks_[kernels[i]] = looks.at(i);
  return {};
}

std::shared_ptr<const Verdict> SearchRecord::verdict(const std::string& kernel, int measurement) const {
  const auto found = verdicts_.find({kernel, measurement});
  return found == verdicts_.end() ? nullptr : found->second;
}

Result<void> SearchRecord::add_verdict(const std::string& kernel, int measurement,
                                       std::shared_ptr<const Verdict> verdict) {
  if (verdict->status == VerdictStatus::internal_error) return {};
  if (database_) {
    KW_TRY(Statement insert,
           database_->prepare(
               "INSERT OR REPLACE INTO search_verdicts (search, kernel, measurement, verdict) VALUES (?, ?, ?, ?)"));
    KW_TRY_VOID(insert.run(search_, kernel, measurement, dumped(to_json(*verdict))));
  }
  verdicts_[{kernel, measurement}] = std::move(verdict);
  return {};
}

std::optional<double> SearchRecord::seconds_at(int round) const {
  if (round < 0 || round >= rounds()) return std::nullopt;
  return round_ends_[static_cast<std::size_t>(round)];
}

double SearchRecord::seconds() const { return round_ends_.empty() ? seconds_ : std::max(seconds_, round_ends_.back()); }

Result<void> SearchRecord::end_round(int round, double seconds) {
  if (round != rounds()) return {};  // it stands there already
  if (database_) {
    KW_TRY(Statement insert, database_->prepare("INSERT INTO search_rounds (search, round, seconds) VALUES (?, ?, ?)"));
    KW_TRY_VOID(insert.run(search_, round, seconds));
  }
  round_ends_.push_back(seconds);
  return {};
}

Result<void> SearchRecord::note_seconds(double seconds) {
  seconds_ = std::max(seconds_, seconds);
  if (!database_) return {};
  KW_TRY(Statement update, database_->prepare("UPDATE searches SET seconds = ? WHERE id = ?"));
  return update.run(seconds_, search_);
}

}  // namespace kw
