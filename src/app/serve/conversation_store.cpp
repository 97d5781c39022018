#include "app/serve/conversation_store.h"

#include <fmt/format.h>

#include <array>

#include "base/database/database_size.h"

namespace kw {
namespace {

constexpr std::array<std::string_view, 1> schema = {R"(
CREATE TABLE conversation (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  user TEXT NOT NULL,
  task TEXT NOT NULL,
  model TEXT NOT NULL,
  kind TEXT NOT NULL,
  request TEXT NOT NULL,
  agents TEXT NOT NULL,
  experiment TEXT NOT NULL,
  exposure INTEGER NOT NULL,
  created_s REAL NOT NULL,
  over INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX conversation_of_user ON conversation (user, number);
CREATE INDEX conversation_open ON conversation (over, number);
CREATE TABLE event (
  conversation INTEGER NOT NULL REFERENCES conversation (number) ON DELETE CASCADE,
  id INTEGER NOT NULL,
  name TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (conversation, id)
) STRICT, WITHOUT ROWID;
)"};

Result<std::vector<std::string>> texts_of(Statement& query) {
  std::vector<std::string> all;
  for (;;) {
    KW_TRY(const bool row, query.step());
    if (!row) return all;
    all.emplace_back(query.text(0));
  }
}

}  // namespace

Result<std::unique_ptr<ConversationStore>> ConversationStore::open(const std::filesystem::path& file) {
  KW_TRY(Database database, Database::open(file));
  KW_TRY_VOID(database.migrate(schema));
  return std::unique_ptr<ConversationStore>(new ConversationStore(std::move(database)));
}

Result<void> ConversationStore::begin(const ConversationFacts& facts) {
  KW_TRY(Statement insert,
         database_.prepare("INSERT INTO conversation (id, user, task, model, kind, request, agents, experiment, "
                           "exposure, created_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  return insert.run(facts.id, facts.user, facts.task, facts.model, facts.kind, facts.request, facts.agents,
                    facts.experiment, facts.exposure, facts.created_s);
}

Result<void> ConversationStore::add(const std::string& id, const ConversationEvent& event) {
  KW_TRY(Transaction transaction, Transaction::begin(database_));
  KW_TRY(Statement insert, database_.prepare("INSERT INTO event (conversation, id, name, data) "
                                             "SELECT number, ?, ?, ? FROM conversation WHERE id = ?"));
  KW_TRY_VOID(insert.run(event.id, event.name, event.data, id));
  if (event.name == "end") {
    KW_TRY(Statement end, database_.prepare("UPDATE conversation SET over = 1 WHERE id = ?"));
    KW_TRY_VOID(end.run(id));
  }
  return transaction.commit();
}

Result<std::optional<StoredConversation>> ConversationStore::find(const std::string& id) { return find(id, ""); }

Result<std::optional<StoredConversation>> ConversationStore::find_summary(const std::string& id) {
  return find(id, "AND name IN ('turn', 'end')");
}

Result<std::optional<StoredConversation>> ConversationStore::find(const std::string& id,
                                                                  std::string_view which_events) {
  KW_TRY(Statement query, database_.prepare("SELECT number, user, task, model, kind, request, agents, experiment, "
                                            "exposure, created_s FROM conversation WHERE id = ?"));
  KW_TRY_VOID(query.bind(id));
  KW_TRY(const bool there, query.step());
  if (!there) return std::optional<StoredConversation>{};
  StoredConversation found;
  const std::int64_t number = query.integer(0);
  ConversationFacts& facts = found.facts;
  facts.id = id;
  int column = 1;
  for (std::string* text :
       {&facts.user, &facts.task, &facts.model, &facts.kind, &facts.request, &facts.agents, &facts.experiment})
    *text = query.text(column++);
  facts.exposure = query.integer(8);
  facts.created_s = query.real(9);
  KW_TRY(Statement events,
         database_.prepare(
             fmt::format("SELECT id, name, data FROM event WHERE conversation = ? {} ORDER BY id", which_events)));
  KW_TRY_VOID(events.bind(number));
  for (;;) {
    KW_TRY(const bool row, events.step());
    if (!row) break;
    found.events.push_back({events.integer(0), std::string(events.text(1)), std::string(events.text(2))});
  }
  if (!found.events.empty() && found.events.back().name == "end") {
    const bool cancelled = found.events.back().data.find("\"end\":\"cancelled\"") != std::string::npos;
    found.state = cancelled ? ConversationState::cancelled : ConversationState::ended;
  }
  return std::optional(std::move(found));
}

Result<std::vector<std::string>> ConversationStore::unfinished() {
  KW_TRY(Statement query, database_.prepare("SELECT id FROM conversation WHERE over = 0 ORDER BY number"));
  KW_TRY_VOID(query.bind());
  return texts_of(query);
}

Result<std::vector<std::string>> ConversationStore::newest(const std::string& user, std::size_t most) {
  KW_TRY(Statement query, database_.prepare("SELECT id FROM conversation WHERE user = ? ORDER BY number DESC LIMIT ?"));
  KW_TRY_VOID(query.bind(user, static_cast<std::int64_t>(most)));
  return texts_of(query);
}

Result<bool> ConversationStore::forget_some(std::int64_t kept, std::uint64_t most_bytes) {
  constexpr std::int64_t at_a_time = 64;
  KW_TRY(const std::uint64_t used, used_bytes(database_));
  // Too many bytes: some of the oldest. Otherwise some of those that are too many.
  const std::string old =
      fmt::format("(SELECT number FROM conversation WHERE over = 1 ORDER BY number {} LIMIT {} OFFSET ?)",
                  used > most_bytes ? "ASC" : "DESC", at_a_time);
  const std::int64_t offset = used > most_bytes ? 0 : kept;
  KW_TRY(Transaction transaction, Transaction::begin(database_));
  KW_TRY(Statement events, database_.prepare("DELETE FROM event WHERE conversation IN " + old));
  KW_TRY_VOID(events.run(offset));
  KW_TRY(Statement rows, database_.prepare("DELETE FROM conversation WHERE number IN " + old + " RETURNING number"));
  KW_TRY_VOID(rows.bind(offset));
  bool some = false;
  for (;;) {
    KW_TRY(const bool row, rows.step());
    if (!row) break;
    some = true;
  }
  KW_TRY_VOID(transaction.commit());
  return some;
}

}  // namespace kw
