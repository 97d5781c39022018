#include "agents/episode/episode_store_size.h"

#include <vector>

#include "base/database/database.h"
#include "base/database/database_size.h"

namespace kw {
namespace {

// A few at a time: no transaction takes long, and not much more goes than has to.
constexpr std::int64_t at_a_time = 16;

Result<std::vector<std::int64_t>> oldest_ended(Database& database) {
  std::vector<std::int64_t> ids;
  KW_TRY(Statement query, database.prepare("SELECT id FROM episodes WHERE end <> 'unfinished' ORDER BY id LIMIT ?"));
  KW_TRY_VOID(query.bind(at_a_time));
  for (;;) {
    KW_TRY(const bool row, query.step());
    if (!row) return ids;
    ids.push_back(query.integer(0));
  }
}

}  // namespace

Result<std::int64_t> forget_ended_episodes(const std::filesystem::path& file, std::uint64_t most_bytes) {
  KW_TRY(Database database, Database::open(file));
  std::int64_t forgotten = 0;
  for (;;) {
    KW_TRY(const std::uint64_t used, used_bytes(database));
    if (used <= most_bytes) return forgotten;
    KW_TRY(Transaction transaction, Transaction::begin(database));
    KW_TRY(const auto ids, oldest_ended(database));
    if (ids.empty()) return forgotten;
    for (const char* sql : {"DELETE FROM samples WHERE episode = ?", "DELETE FROM turns WHERE episode = ?",
                            "DELETE FROM episodes WHERE id = ?"}) {
      KW_TRY(Statement forget, database.prepare(sql));
      for (const std::int64_t id : ids) KW_TRY_VOID(forget.run(id));
    }
    KW_TRY_VOID(transaction.commit());
    forgotten += static_cast<std::int64_t>(ids.size());
  }
}

}  // namespace kw
