#pragma once
// POST /v1/generate and /v1/optimize, and conversations by id: /v1/conversations.

#include <memory>

#include "app/serve/conversation_desk.h"
#include "base/http/http_reply.h"

namespace kw {

class ConversationApi {
 public:
  ConversationApi(ConversationDesk& desk, WorkQueue& work) : desk_(desk), work_(work) {}

  void begin(const HttpRequest& request, std::shared_ptr<HttpReply> reply, bool optimize);
  void list(const HttpRequest& request, std::shared_ptr<HttpReply> reply);
  void show(const HttpRequest& request, std::shared_ptr<HttpReply> reply, const std::string& id);
  void events(const HttpRequest& request, std::shared_ptr<HttpReply> reply, const std::string& id);
  void cancel(const HttpRequest& request, std::shared_ptr<HttpReply> reply, const std::string& id);

 private:
  // Runs `then` with the conversation on a thread that may wait; 404 where there is none.
  void with(const HttpRequest& request, const std::shared_ptr<HttpReply>& reply, const std::string& id,
            std::function<void(const std::shared_ptr<Conversation>&)> then);

  ConversationDesk& desk_;
  WorkQueue& work_;
};

}  // namespace kw
