#pragma once
// OpenAI's API over the agents: /v1/models, /v1/chat/completions, /v1/completions. `kernelwright-generator` and
// `kernelwright-optimizer` are asked about a task in the words that they learned (agent_question.h); the bare model, by
// its own name, gets the messages as they are. All answers share one batch with the conversations.

#include <memory>
#include <string>

#include "app/serve/agent_question.h"
#include "app/serve/agent_sets.h"
#include "app/serve/chat_request.h"
#include "app/serve/task_book.h"
#include "base/http/http_reply.h"
#include "kernel/judge/judge_pool.h"

namespace kw {

class ChatApi {
 public:
  ChatApi(AgentSets& sets, TaskBook& tasks, JudgePool& judges, WorkQueue& work)
      : sets_(sets), tasks_(tasks), judges_(judges), work_(work) {}

  void models(std::shared_ptr<HttpReply> reply) const;
  void model(const std::string& name, std::shared_ptr<HttpReply> reply) const;
  void complete(const HttpRequest& request, std::shared_ptr<HttpReply> reply, bool chat);

 private:
  struct Asked;
  void ask(const std::shared_ptr<Asked>& asked);
  void ask_agent(const std::shared_ptr<Asked>& asked);
  void submit(const std::shared_ptr<Asked>& asked, Result<std::vector<std::int32_t>> prompt);

  AgentSets& sets_;
  TaskBook& tasks_;
  JudgePool& judges_;
  WorkQueue& work_;
};

}  // namespace kw
