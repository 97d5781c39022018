#include "app/serve/conversation_api.h"

#include <charconv>

#include "app/serve/api_json.h"
#include "base/http/server_sent_events.h"

namespace kw {
namespace {

// Events after `after` as a stream that ends with the conversation.
void stream(const std::shared_ptr<Conversation>& conversation, const std::shared_ptr<HttpReply>& reply,
            std::int64_t after) {
  reply->begin_stream(
      {200, "text/event-stream", "", {{"Cache-Control", "no-store"}, {"X-Conversation-Id", conversation->facts().id}}});
  conversation->listen(after, [reply](const ConversationEvent& event) {
    const bool there = reply->write(sse_event(event.id > 0 ? event.id : -1, event.name, event.data));
    if (event.name != "end") return there;
    reply->end_stream();
    return false;
  });
}

// One answer at the end. Nobody else knows the id, so a client that goes away ends the conversation.
void respond_at_end(const std::shared_ptr<Conversation>& conversation, const std::shared_ptr<HttpReply>& reply) {
  reply->on_gone([weak = std::weak_ptr(conversation)] {
    if (const auto left = weak.lock()) left->cancel();
  });
  conversation->when_over([reply, weak = std::weak_ptr(conversation)] {
    if (const auto over = weak.lock()) reply->respond(json_response(over->to_json()));
  });
}

std::int64_t last_event_seen(const HttpRequest& request) {
  std::string text;
  if (const auto header = request.headers.find("last-event-id"); header != request.headers.end()) text = header->second;
  if (const auto asked = request.query.find("after"); asked != request.query.end()) text = asked->second;
  std::int64_t id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id);
  return id;
}

}  // namespace

void ConversationApi::begin(const HttpRequest& request, std::shared_ptr<HttpReply> reply, bool optimize) {
  RequestFields fields(request);
  auto wish = read_conversation_wish(fields, optimize);
  if (fields.problem()) return reply->respond(*fields.problem());
  const auto work = [this, wish = std::move(wish), reply, user = request.user, body = request.body] {
    if (reply->gone()) return;
    const auto begun = desk_.begin(wish, user, body);
    if (!begun.conversation) return reply->respond(begun.refusal);
    wish.stream ? stream(begun.conversation, reply, 0) : respond_at_end(begun.conversation, reply);
  };
  if (!work_.submit(work)) reply->respond(busy_response());
}

void ConversationApi::list(const HttpRequest& request, std::shared_ptr<HttpReply> reply) {
  const auto work = [this, reply, user = request.user] {
    Json all = Json::array();
    for (Json& summary : desk_.newest(user, 200)) all.push_back(std::move(summary));
    reply->respond(json_response({{"conversations", std::move(all)}}));
  };
  if (!work_.submit(work)) reply->respond(busy_response());
}

void ConversationApi::with(const HttpRequest& request, const std::shared_ptr<HttpReply>& reply, const std::string& id,
                           std::function<void(const std::shared_ptr<Conversation>&)> then) {
  const auto work = [this, reply, id, user = request.user, then = std::move(then)] {
    const auto conversation = desk_.find(id, user);
    if (!conversation) return reply->respond(http_error(404, "there is no such conversation", "id"));
    then(conversation);
  };
  if (!work_.submit(work)) reply->respond(busy_response());
}

void ConversationApi::show(const HttpRequest& request, std::shared_ptr<HttpReply> reply, const std::string& id) {
  with(request, reply, id,
       [reply](const auto& conversation) { reply->respond(json_response(conversation->to_json())); });
}

void ConversationApi::events(const HttpRequest& request, std::shared_ptr<HttpReply> reply, const std::string& id) {
  with(request, reply, id,
       [reply, after = last_event_seen(request)](const auto& conversation) { stream(conversation, reply, after); });
}

void ConversationApi::cancel(const HttpRequest& request, std::shared_ptr<HttpReply> reply, const std::string& id) {
  with(request, reply, id, [reply](const std::shared_ptr<Conversation>& conversation) {
    conversation->cancel();
    const bool over = conversation->is_over();
    reply->respond(json_response(
        {{"id", conversation->facts().id}, {"state", over ? to_string(conversation->state()) : "cancelled"}}));
  });
}

}  // namespace kw
