#pragma once
// The sets of agents that the service speaks with, by name. The first is everybody's; others are named by a request, or
// by an experiment that gives them to a share of the users. A set is loaded beside those that are working and let go
// when its last request is done, so that new weights come in without a pause.

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "agents/service/agent_service.h"
#include "app/serve/work_queue.h"

namespace kw {

class AgentSets {
 public:
  // Pool and queue outlive it; the queue is where a set that nobody uses any more is taken down.
  AgentSets(AgentServiceOptions options, JudgePool& judges, std::string judge_identity, WorkQueue& later);
  ~AgentSets();

  // Loads it if it is not there; takes as long as that takes. The first one becomes the default. One that stays is not
  // let go by keep_only().
  enum class Stay : bool { no, yes };
  Result<std::shared_ptr<AgentService>> load(const std::string& name, Stay stay = Stay::no);
  // Empty: the default. Null: no such set is loaded.
  std::shared_ptr<AgentService> find(const std::string& name) const;
  // Lets go of all others but those that stay: requests that they are working on are finished, new ones do not find
  // them.
  void keep_only(const std::set<std::string>& wanted);
  std::vector<std::string> names() const;  // the default first
  // Cancels what they are working on, and returns when none of them is left. Before anything that their requests use
  // goes.
  void close();

 private:
  void take_down(AgentService* ended);

  const AgentServiceOptions options_;
  JudgePool& judges_;
  const std::string judge_identity_;
  WorkQueue& later_;
  mutable std::mutex mutex_;
  std::mutex loading_;  // one at a time: each takes all memory it can get
  std::vector<std::pair<std::string, std::shared_ptr<AgentService>>> sets_;
  std::set<std::string> staying_;
  std::condition_variable changed_;
  std::size_t alive_ = 0;             // of all that were loaded
  bool closing_ = false;              // then close() takes them down
  std::vector<AgentService*> ended_;  // that nobody uses any more
};

}  // namespace kw
