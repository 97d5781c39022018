#pragma once
// Everything that is behind the service's routes.

#include <atomic>
#include <memory>
#include <set>
#include <string>

#include "app/serve/agent_sets.h"
#include "app/serve/chat_api.h"
#include "app/serve/conversation_api.h"
#include "app/serve/experiment_desk.h"
#include "app/serve/housekeeping.h"
#include "app/serve/judge_api.h"
#include "app/serve/page_files.h"
#include "app/serve/prompt_api.h"
#include "app/serve/run_api.h"
#include "app/serve/service_watch.h"
#include "kernel/judge/judge_session.h"

namespace kw {

// In the order in which one depends on the other; it ends the other way round.
struct ServiceParts {
  WorkQueue work{4, 4096};
  std::unique_ptr<ServiceWatch> watch;
  std::unique_ptr<JudgeSession> judge;
  std::unique_ptr<JudgePool> pool;
  std::unique_ptr<PurposeJudges> judges;
  std::unique_ptr<TaskBook> tasks;
  PromptBook prompts;
  std::unique_ptr<AgentSets> sets;
  std::unique_ptr<ExperimentDesk> experiments;
  std::unique_ptr<ConversationDesk> conversations;
  std::unique_ptr<ChatApi> chat;
  std::unique_ptr<JudgeApi> judge_api;
  std::unique_ptr<ConversationApi> conversation_api;
  std::unique_ptr<RunApi> runs;
  std::unique_ptr<Housekeeping> housekeeping;
  PageFiles page;
  std::set<std::string> admins;                    // keys that may change experiments
  bool has_keys = false;                           // without keys everybody on this machine may
  std::atomic<bool> complete = false;              // all of it is there and does not change any more
  std::atomic<const char*> not_ready = "loading";  // or "draining"; null: ready

  ServiceCounts counts() const;  // without those of the HTTP server
  Json description() const;      // what GET /v1/service says
};

}  // namespace kw
