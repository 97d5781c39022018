#pragma once
// All conversations of the service: begun by requests, run by agents, kept on disk, found again by id. Those that were
// under way when a server died are resumed by the next one.

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/serve/agent_sets.h"
#include "app/serve/conversation.h"
#include "app/serve/conversation_store.h"
#include "app/serve/conversation_wish.h"
#include "app/serve/experiment_desk.h"
#include "app/serve/task_book.h"

namespace kw {

struct ConversationCounts {
  std::int64_t open = 0;   // not over yet
  std::int64_t ended = 0;  // since the start
};

class ConversationDesk {
 public:
  // Everything outlives it. `judge`: in words, for clients.
  static Result<std::unique_ptr<ConversationDesk>> open(const std::filesystem::path& file, TaskBook& tasks,
                                                        AgentSets& sets, ExperimentDesk& experiments, WorkQueue& work,
                                                        std::string judge);

  // Takes as long as checking the task takes. What is wrong with the request, or that there is no room, is the error.
  struct Begun {
    std::shared_ptr<Conversation> conversation;  // null: refused
    HttpResponse refusal;
  };
  // A request with an id that is known is the same request again: it gets the conversation that it began.
  Begun begin(const ConversationWish& wish, const std::string& user, const std::string& body);

  // Null: there is none, or it is somebody else's.
  std::shared_ptr<Conversation> find(const std::string& id, const std::string& user);
  // Summaries, the newest first. One after the other: a whole conversation may have megabytes.
  std::vector<nlohmann::ordered_json> newest(const std::string& user, std::size_t most);
  // Those of the server before. Called once, when the agents are there.
  Result<void> resume_unfinished();
  // Of what is on disk, the oldest beyond a bound. Called now and then.
  void forget_old();
  // From now on a conversation that is cancelled stays unfinished on disk: the next service resumes it.
  void close() { closing_ = true; }
  ConversationCounts counts() const;

 private:
  struct Run;
  ConversationDesk(std::unique_ptr<ConversationStore> store, TaskBook& tasks, AgentSets& sets,
                   ExperimentDesk& experiments, WorkQueue& work, std::string judge);
  Conversation::Keeper keeper();
  Result<void> start(const std::shared_ptr<Conversation>& conversation, const ConversationWish& wish,
                     const std::shared_ptr<KnownTask>& task, const AssignedAgents& assigned, bool resumed);
  Begun begun_before(const std::string& id, const std::string& user, const std::string& body);
  void resume(const std::string& id);
  void over(const std::shared_ptr<Conversation>& conversation);
  std::shared_ptr<Conversation> read(const std::string& id);
  std::shared_ptr<Conversation> open_one(const std::string& id);  // null: it is over, or there is none

  TaskBook& tasks_;
  AgentSets& sets_;
  ExperimentDesk& experiments_;
  WorkQueue& work_;
  const std::string judge_;
  std::mutex beginning_;  // of conversations with ids of clients: the second of two equal requests waits
  std::mutex store_mutex_;
  std::unique_ptr<ConversationStore> store_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Conversation>> open_;
  std::int64_t ended_ = 0;
  std::atomic<bool> closing_ = false;
};

}  // namespace kw
