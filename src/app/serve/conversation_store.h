#pragma once
// Conversations of the service in SQLite: what was begun, and every event that was kept. An event is on disk before a
// client hears of it, so after kill -9 no client knows more than the service does.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/serve/conversation.h"
#include "base/database/database.h"

namespace kw {

struct StoredConversation {
  ConversationFacts facts;
  ConversationState state = ConversationState::waiting;
  std::vector<ConversationEvent> events;
};

// Belongs to one thread at a time.
class ConversationStore {
 public:
  static Result<std::unique_ptr<ConversationStore>> open(const std::filesystem::path& file);

  Result<void> begin(const ConversationFacts& facts);
  Result<void> add(const std::string& id, const ConversationEvent& event);
  Result<std::optional<StoredConversation>> find(const std::string& id);
  // Ids of those that have no end yet, the oldest first.
  Result<std::vector<std::string>> unfinished();
  // The newest first.
  Result<std::vector<std::string>> newest(const std::string& user, std::size_t most);
  // What a summary needs: of the events only turns and the end.
  Result<std::optional<StoredConversation>> find_summary(const std::string& id);
  // Some ended ones are forgotten where there are more than `kept`, or more than `most_bytes` of the file are used; the
  // oldest first. A few at a time, so that nobody waits for long; true: there may be more of them.
  Result<bool> forget_some(std::int64_t kept, std::uint64_t most_bytes);

 private:
  explicit ConversationStore(Database database) : database_(std::move(database)) {}
  Result<std::optional<StoredConversation>> find(const std::string& id, std::string_view which_events);
  Database database_;
};

}  // namespace kw
