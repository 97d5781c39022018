#pragma once
// SQLite, thinly: what is opened is closed, what fails is a Result. A connection and its statements belong to one
// thread at a time; several connections, also of several processes, may use one file.
//
// A file may be anybody's. It is opened so that its schema cannot run functions, values are bounded, and a damaged one
// gives errors, never undefined behaviour.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kw {

// A query and its parameters; reused for many rows. Parameters are bound in order, columns count from 0.
class Statement {
 public:
  // Ends what ran before and sets the next parameters: bind(step, "train/loss", 0.5). Takes integers, floating point
  // numbers (NaN is stored as NULL, there is no other way), text, std::span<const std::byte>, nullptr.
  template <class... Values>
  Result<void> bind(const Values&... values) {
    KW_TRY_VOID(rewind(sizeof...(Values)));
    int index = 0;
    Result<void> status;
    ((status.ok() ? void(status = bind_one(++index, values)) : void()), ...);
    return status;
  }

  // true: there is a row to read; false: the statement is done and may be bound again.
  Result<bool> step();

  // For statements that give no rows.
  template <class... Values>
  Result<void> run(const Values&... values) {
    KW_TRY_VOID(bind(values...));
    return finish();
  }

  // Columns of the row that step() found. The types are converted as SQLite does it, a value of another type is 0 or
  // empty, so a hostile file surprises nobody; real() of NULL is NaN. Views live until the next step, bind or run.
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;
  std::span<const std::byte> blob(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  Result<void> rewind(std::size_t parameters);
  Result<void> finish();
  Result<void> bound(int index, int code);
  Result<void> bind_integer(int index, std::int64_t value);
  Result<void> bind_real(int index, double value);
  Result<void> bind_text(int index, std::string_view value);
  Result<void> bind_blob(int index, std::span<const std::byte> value);
  Result<void> bind_null(int index);

  template <class Value>
  Result<void> bind_one(int index, const Value& value) {
    if constexpr (std::is_same_v<Value, std::nullptr_t>)
      return bind_null(index);
    else if constexpr (std::is_integral_v<Value>)
      return bind_integer(index, static_cast<std::int64_t>(value));
    else if constexpr (std::is_floating_point_v<Value>)
      return bind_real(index, static_cast<double>(value));
    else if constexpr (std::is_convertible_v<const Value&, std::string_view>)
      return bind_text(index, value);
    else
      return bind_blob(index, value);
  }

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

struct DatabaseOptions {
  bool read_only = false;  // the file must be there
  // Commits survive kill -9 either way; power_loss also waits for the disk at each commit.
  Durability durability = Durability::process_crash;
  int busy_timeout_ms = 60'000;  // how long to wait for other writers: a dozen runs may share runs.db
};

class Database {
 public:
  // Made, with its folder, if it is not there. The journal is a write-ahead log, so readers do not wait for a writer.
  static Result<Database> open(const std::filesystem::path& path, DatabaseOptions options = {});

  // versions[i] is the SQL that takes the schema from version i to i + 1; what is missing is run, in one transaction.
  // A file of a later version is an error, and so is one of an earlier version that was opened to read only.
  Result<void> migrate(std::span<const std::string_view> versions);

  // SQL text comes from the program, never from outside.
  Result<Statement> prepare(std::string_view sql);
  // Several statements without parameters or rows.
  Result<void> execute(const std::string& sql);
  std::int64_t last_row_id() const;

  // Reads all of the file: pages, rows and indexes fit together.
  Result<void> check();
  // What was committed is on the disk, and moved into the database file as far as readers allow.
  Result<void> checkpoint();

 private:
  friend class Transaction;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  Database(std::filesystem::path path, bool read_only, std::unique_ptr<sqlite3, Close> connection);
  Result<void> configure(const DatabaseOptions& options);
  bool in_transaction() const;

  std::filesystem::path path_;
  bool read_only_ = false;
  std::unique_ptr<sqlite3, Close> connection_;
};

// All or nothing: what is not committed at the end of the scope never was. The database must not be moved meanwhile.
class [[nodiscard]] Transaction {
 public:
  // Takes the right to write at once, so that no later statement finds the database busy.
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace kw
