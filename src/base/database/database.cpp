#include "base/database/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <limits>
#include <system_error>

namespace kw {
namespace {

// No value of ours is near it; a hostile file's may be.
constexpr int value_limit_bytes = 256 << 20;

std::string advice_for(int code) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return "the file is something else; move it away or name another one";
    case SQLITE_CORRUPT:
      return "the file is damaged; move it away and start again, or bring back a copy";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process is writing to it; wait for it or stop it";
    case SQLITE_FULL:
      return "the disk is full; make room and go on, nothing that was committed is lost";
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "it may not be written to; look at its permissions";
    case SQLITE_CANTOPEN:
      return "look at the permissions of the file and of its folder";
    case SQLITE_IOERR:
      return "the disk or the file system reports a failure";
    default:
      return "";
  }
}

Error database_error(sqlite3* connection, const std::string& path, int code) {
  // A full disk is also met where files are made and grown, and then called otherwise.
  const int reason = connection != nullptr ? sqlite3_system_errno(connection) : 0;
  const int kind = code & 0xff;
  if ((kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN) && (reason == ENOSPC || reason == EDQUOT))
    return {path + ": " + sqlite3_errstr(SQLITE_FULL), advice_for(SQLITE_FULL), {}};
  const char* message = connection != nullptr && sqlite3_errcode(connection) != SQLITE_OK ? sqlite3_errmsg(connection)
                                                                                          : sqlite3_errstr(code);
  return {path + ": " + message, advice_for(code), {}};
}

Error statement_error(sqlite3_stmt* statement, int code) {
  sqlite3* connection = sqlite3_db_handle(statement);
  const char* path = sqlite3_db_filename(connection, "main");
  return database_error(connection, path != nullptr ? path : "database", code);
}

// SQLite would open devices and wait for pipes.
Result<void> require_plain_file(const std::filesystem::path& path, bool read_only) {
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (status.type() == std::filesystem::file_type::not_found) {
    if (read_only) return Error{"there is no database " + path.string(), "", {}};
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), failure);
    if (failure) return Error{"cannot make the folder of " + path.string() + ": " + failure.message(), "", {}};
    return {};
  }
  if (failure) return Error{"cannot look at " + path.string() + ": " + failure.message(), "", {}};
  if (status.type() != std::filesystem::file_type::regular)
    return Error{path.string() + " is not a plain file", "name a database file", {}};
  return {};
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Result<void> Statement::rewind(std::size_t parameters) {
  KW_CHECK(sqlite3_bind_parameter_count(statement_.get()) == static_cast<int>(parameters));
  sqlite3_reset(statement_.get());  // repeats the error of the last step, which was reported then
  return {};
}

Result<void> Statement::bound(int index, int code) {
  if (code == SQLITE_OK) return {};
  if (code == SQLITE_TOOBIG)
    return Error{"value " + std::to_string(index) + " is too large for a database", "at most 256 MiB are stored", {}};
  return statement_error(statement_.get(), code);
}

Result<void> Statement::bind_integer(int index, std::int64_t value) {
  return bound(index, sqlite3_bind_int64(statement_.get(), index, value));
}

Result<void> Statement::bind_real(int index, double value) {
  return bound(index, sqlite3_bind_double(statement_.get(), index, value));
}

Result<void> Statement::bind_text(int index, std::string_view value) {
  // A view of nothing has no address, and that would be NULL.
  const char* text = value.data() != nullptr ? value.data() : "";
  return bound(index, sqlite3_bind_text64(statement_.get(), index, text, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

Result<void> Statement::bind_blob(int index, std::span<const std::byte> value) {
  if (value.empty()) return bound(index, sqlite3_bind_zeroblob(statement_.get(), index, 0));
  return bound(index, sqlite3_bind_blob64(statement_.get(), index, value.data(), value.size(), SQLITE_TRANSIENT));
}

Result<void> Statement::bind_null(int index) { return bound(index, sqlite3_bind_null(statement_.get(), index)); }

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_.get());  // lets go of the snapshot, so that the log can be moved into the file
    return false;
  }
  Error error = statement_error(statement_.get(), code);
  sqlite3_reset(statement_.get());
  return error;
}

Result<void> Statement::finish() {
  for (;;) {
    KW_TRY(const bool row, step());
    if (!row) return {};
  }
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double Statement::real(int column) const {
  if (is_null(column)) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::span<const std::byte> Statement::blob(int column) const {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

// Statements may outlive the connection: the last of them closes it.
void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Database::Database(std::filesystem::path path, bool read_only, std::unique_ptr<sqlite3, Close> connection)
    : path_(std::move(path)), read_only_(read_only), connection_(std::move(connection)) {}

Result<Database> Database::open(const std::filesystem::path& path, DatabaseOptions options) {
  KW_TRY_VOID(require_plain_file(path, options.read_only));
  sqlite3* opened = nullptr;
  const int flags = options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  // An absolute path: "file:..." and ":memory:" are names of files here.
  const int code =
      sqlite3_open_v2(std::filesystem::absolute(path).c_str(), &opened, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
  std::unique_ptr<sqlite3, Close> connection(opened);
  if (code != SQLITE_OK) return database_error(opened, path.string(), code);
  Database database(path, options.read_only, std::move(connection));
  KW_TRY_VOID(database.configure(options));
  return database;
}

Result<void> Database::configure(const DatabaseOptions& options) {
  sqlite3* connection = connection_.get();
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, options.busy_timeout_ms);
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, value_limit_bytes);
  sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  KW_TRY_VOID(execute("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA foreign_keys = ON"));
  // The first look at the file: something else is recognised here.
  KW_TRY(Statement version, prepare("PRAGMA schema_version"));
  KW_TRY_VOID(version.run());
  if (options.read_only) return {};
  // Where a file system has no shared memory, SQLite stays with a rollback journal, which is as safe.
  KW_TRY(Statement journal, prepare("PRAGMA journal_mode = WAL"));
  KW_TRY_VOID(journal.run());
  const bool wait_for_disk = options.durability == Durability::power_loss;
  return execute(wait_for_disk ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
}

Result<void> Database::migrate(std::span<const std::string_view> versions) {
  const auto stored_version = [this]() -> Result<std::int64_t> {
    KW_TRY(Statement query, prepare("PRAGMA user_version"));
    KW_TRY(const bool row, query.step());
    return row ? query.integer(0) : 0;
  };
  const auto newest = static_cast<std::int64_t>(versions.size());
  KW_TRY(std::int64_t version, stored_version());
  if (version == newest) return {};
  if (version < 0 || version > newest)
    return Error{path_.string() + " has schema version " + std::to_string(version) + ", this program knows up to " +
                     std::to_string(newest),
                 "use the program that wrote it, or a newer one",
                 {}};
  if (read_only_)
    return Error{path_.string() + " has schema version " + std::to_string(version) +
                     " and would have to be brought to " + std::to_string(newest),
                 "a command that writes to it does that",
                 {}};
  KW_TRY(Transaction transaction, Transaction::begin(*this));
  KW_TRY(version, stored_version());  // another process may have been quicker
  for (; version >= 0 && version < newest; ++version) {
    KW_TRY_VOID(execute(std::string(versions[static_cast<std::size_t>(version)])));
    KW_TRY_VOID(execute("PRAGMA user_version = " + std::to_string(version + 1)));
  }
  return transaction.commit();
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return database_error(connection_.get(), path_.string(), code);
  KW_CHECK(statement != nullptr);
  return Statement(statement);
}

Result<void> Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return database_error(connection_.get(), path_.string(), code);
  return {};
}

std::int64_t Database::last_row_id() const { return sqlite3_last_insert_rowid(connection_.get()); }

Result<void> Database::check() {
  KW_TRY(Statement query, prepare("PRAGMA quick_check(1)"));
  KW_TRY(const bool row, query.step());
  if (row && query.text(0) == "ok") return {};
  return Error{path_.string() + " is damaged: " + std::string(row ? query.text(0) : "no answer"),
               advice_for(SQLITE_CORRUPT),
               {}};
}

Result<void> Database::checkpoint() {
  const int code = sqlite3_wal_checkpoint_v2(connection_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code != SQLITE_OK) return database_error(connection_.get(), path_.string(), code);
  return {};
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(connection_.get()) == 0; }

Result<Transaction> Transaction::begin(Database& database) {
  KW_TRY_VOID(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  // A full disk may have ended it already.
  if (database_ != nullptr && database_->in_transaction()) (void)database_->execute("ROLLBACK").ok();
}

Result<void> Transaction::commit() {
  KW_CHECK(database_ != nullptr);
  if (!database_->in_transaction())
    return Error{database_->path_.string() + ": the transaction was undone by an earlier failure", "", {}};
  KW_TRY_VOID(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace kw
