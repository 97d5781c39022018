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
  // Ended ones beyond the newest `kept` are forgotten.
  Result<void> forget_old(std::int64_t kept);

 private:
  explicit ConversationStore(Database database) : database_(std::move(database)) {}
  Database database_;
};

}  // namespace kw
