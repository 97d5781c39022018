#include "base/database/database.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <fstream>
#include <limits>

#include "base/random.h"

namespace kw {
namespace {

constexpr std::array<std::string_view, 1> first_schema = {"CREATE TABLE facts (name TEXT PRIMARY KEY, value) STRICT"};
constexpr std::array<std::string_view, 1> plain_schema = {"CREATE TABLE facts (name TEXT PRIMARY KEY, value)"};
constexpr std::array<std::string_view, 2> second_schema = {plain_schema[0], "ALTER TABLE facts ADD COLUMN unit TEXT"};

Database fresh(const std::filesystem::path& path, DatabaseOptions options = {}) {
  auto database = Database::open(path, options);
  EXPECT_TRUE(database.ok()) << to_string(database.error());
  if (!options.read_only) {
    EXPECT_TRUE(database->migrate(plain_schema).ok());
  }
  return std::move(database).value();
}

std::int64_t count_of(Database& database) {
  auto query = database.prepare("SELECT count(*) FROM facts");
  EXPECT_TRUE(query.ok());
  auto row = query->step();
  EXPECT_TRUE(row.ok() && *row);
  return query->integer(0);
}

TEST(Database, KeepsEveryTypeAsItIs) {
  const TemporaryFolder folder;
  Database database = fresh(folder.path() / "deep" / "a.db");
  auto insert = database.prepare("INSERT INTO facts (name, value) VALUES (?, ?)");
  ASSERT_TRUE(insert.ok());
  const std::array<std::byte, 3> bytes = {std::byte{0}, std::byte{255}, std::byte{7}};
  const std::string text_with_zero("a\0b", 3);
  ASSERT_TRUE(insert->run("integer", std::numeric_limits<std::int64_t>::min()).ok());
  ASSERT_TRUE(insert->run("real", 0.1).ok());
  ASSERT_TRUE(insert->run("infinite", std::numeric_limits<double>::infinity()).ok());
  ASSERT_TRUE(insert->run("nan", std::nan("")).ok());
  ASSERT_TRUE(insert->run("text", text_with_zero).ok());
  ASSERT_TRUE(insert->run("empty", std::string_view()).ok());
  ASSERT_TRUE(insert->run("blob", std::span<const std::byte>(bytes)).ok());
  ASSERT_TRUE(insert->run("no bytes", std::span<const std::byte>()).ok());
  ASSERT_TRUE(insert->run("null", nullptr).ok());

  auto query = database.prepare("SELECT value FROM facts WHERE name = ?");
  const auto look = [&](std::string_view name) {
    ASSERT_TRUE(query->bind(name).ok());
    auto row = query->step();
    ASSERT_TRUE(row.ok() && *row) << name;
  };
  look("integer");
  EXPECT_EQ(query->integer(0), std::numeric_limits<std::int64_t>::min());
  look("real");
  EXPECT_EQ(query->real(0), 0.1);
  look("infinite");
  EXPECT_EQ(query->real(0), std::numeric_limits<double>::infinity());
  look("nan");
  EXPECT_TRUE(std::isnan(query->real(0)));
  look("text");
  EXPECT_EQ(query->text(0), text_with_zero);
  look("empty");
  EXPECT_FALSE(query->is_null(0));
  EXPECT_EQ(query->text(0), "");
  look("blob");
  EXPECT_TRUE(std::ranges::equal(query->blob(0), bytes));
  look("no bytes");
  EXPECT_FALSE(query->is_null(0));
  EXPECT_TRUE(query->blob(0).empty());
  look("null");
  EXPECT_TRUE(query->is_null(0));
  look("text");
  EXPECT_EQ(query->integer(0), 0);  // another type: converted, not undefined
}

TEST(Database, ATransactionIsAllOrNothing) {
  const TemporaryFolder folder;
  Database database = fresh(folder.path() / "a.db");
  {
    auto transaction = Transaction::begin(database);
    ASSERT_TRUE(transaction.ok());
    ASSERT_TRUE(database.execute("INSERT INTO facts VALUES ('a', 1)").ok());
  }
  EXPECT_EQ(count_of(database), 0);
  auto transaction = Transaction::begin(database);
  ASSERT_TRUE(database.execute("INSERT INTO facts VALUES ('a', 1)").ok());
  ASSERT_TRUE(transaction->commit().ok());
  EXPECT_EQ(count_of(database), 1);
}

TEST(Database, SchemaIsBroughtForwardAndNeverBack) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.db";
  { Database old = fresh(path); }
  {
    auto read_only = Database::open(path, {.read_only = true});
    ASSERT_TRUE(read_only.ok());
    EXPECT_FALSE(read_only->migrate(second_schema).ok());
  }
  auto database = Database::open(path);
  ASSERT_TRUE(database->migrate(second_schema).ok());
  ASSERT_TRUE(database->migrate(second_schema).ok());
  EXPECT_TRUE(database->execute("INSERT INTO facts VALUES ('a', 1, 's')").ok());
  const auto back = database->migrate(plain_schema);
  ASSERT_FALSE(back.ok());
  EXPECT_NE(back.error().message.find("schema version 2"), std::string::npos);
}

TEST(Database, AFailedSchemaLeavesNothing) {
  const TemporaryFolder folder;
  auto database = Database::open(folder.path() / "a.db");
  EXPECT_FALSE(database->migrate(first_schema).ok());  // a STRICT column needs a type
  EXPECT_TRUE(database->migrate(plain_schema).ok());
}

TEST(Database, OnlyReadsWhenToldSo) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.db";
  const auto missing = Database::open(path, {.read_only = true});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("there is no database"), std::string::npos);
  Database writer = fresh(path);
  ASSERT_TRUE(writer.execute("INSERT INTO facts VALUES ('a', 1)").ok());
  Database reader = fresh(path, {.read_only = true});
  EXPECT_EQ(count_of(reader), 1);
  EXPECT_FALSE(reader.execute("INSERT INTO facts VALUES ('b', 1)").ok());
}

TEST(Database, ASecondWriterIsToldWhyItWaits) {
  const TemporaryFolder folder;
  Database first = fresh(folder.path() / "a.db");
  Database second = fresh(folder.path() / "a.db", {.busy_timeout_ms = 1});
  auto transaction = Transaction::begin(first);
  const auto refused = Transaction::begin(second);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().advice.find("another process"), std::string::npos);
}

TEST(Database, OtherFilesAreRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "text.db") << std::string(5000, 'x');
  const auto text = Database::open(folder.path() / "text.db");
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("not a database"), std::string::npos);
  EXPECT_FALSE(Database::open(folder.path()).ok());
  ASSERT_EQ(mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(Database::open(folder.path() / "pipe").ok());
  EXPECT_FALSE(Database::open("/dev/zero").ok());
  EXPECT_FALSE(Database::open(folder.path() / "text.db" / "below.db").ok());
}

TEST(Database, AViewInAHostileFileRunsNothing) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.db";
  {
    Database database = fresh(path);
    ASSERT_TRUE(database.execute("ALTER TABLE facts RENAME TO hidden; CREATE VIEW facts AS SELECT * FROM hidden").ok());
  }
  auto database = Database::open(path);
  ASSERT_TRUE(database.ok());
  EXPECT_FALSE(database->prepare("SELECT * FROM facts").ok());
}

// Whatever byte is flipped: an error or an answer, and no crash.
TEST(Database, DamagedFilesGiveErrors) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.db";
  {
    Database database = fresh(path);
    auto insert = database.prepare("INSERT INTO facts (name, value) VALUES (?, ?)");
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(insert->run("name " + std::to_string(i), std::string(50, 'v')).ok());
    ASSERT_TRUE(database.checkpoint().ok());
  }
  const std::string whole = read_file(path).value();
  Random random(7);
  const auto below = [&random](std::size_t limit) {
    return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(limit) - 1));
  };
  int noticed = 0;
  for (int round = 0; round < 200; ++round) {
    std::string bytes = whole;
    if (round % 4 == 0) bytes.resize(below(bytes.size()));
    for (int flip = 0; flip < 40 && !bytes.empty(); ++flip) bytes[below(bytes.size())] = static_cast<char>(below(256));
    ASSERT_TRUE(write_file_atomic(folder.path() / "b.db", bytes).ok());
    std::filesystem::remove(folder.path() / "b.db-wal");
    std::filesystem::remove(folder.path() / "b.db-shm");
    auto database = Database::open(folder.path() / "b.db");
    if (!database.ok() || !database->migrate(plain_schema).ok() || !database->check().ok()) ++noticed;
    if (!database.ok()) continue;
    auto query = database->prepare("SELECT name, value FROM facts ORDER BY name");
    if (!query.ok()) continue;
    for (auto row = query->step(); row.ok() && *row; row = query->step()) (void)query->text(1).size();
  }
  EXPECT_GT(noticed, 100);
}

// What was committed before a kill is there afterwards, and nothing else.
TEST(Database, SurvivesAKill) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.db";
  { Database made = fresh(path); }
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto database = Database::open(path);
    for (int i = 0;; ++i) {
      auto transaction = Transaction::begin(*database);
      auto insert = database->prepare("INSERT INTO facts (name, value) VALUES (?, ?)");
      const bool done = insert->run(std::to_string(2 * i), 1).ok() && insert->run(std::to_string(2 * i + 1), 1).ok() &&
                        transaction->commit().ok();
      if (!done || write(pipe_ends[1], &i, sizeof i) != sizeof i) _exit(1);
    }
  }
  int committed = 0;
  while (committed < 40)
    ASSERT_EQ(read(pipe_ends[0], &committed, sizeof committed), static_cast<ssize_t>(sizeof committed));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  Database database = fresh(path);
  EXPECT_TRUE(database.check().ok());
  EXPECT_GE(count_of(database), 2 * (committed + 1));
  EXPECT_EQ(count_of(database) % 2, 0);
}

}  // namespace
}  // namespace kw
