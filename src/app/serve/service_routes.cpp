#include "app/serve/service_routes.h"

#include "app/serve/draw_api.h"
#include "app/serve/request_fields.h"

namespace kw {
namespace {

using Reply = std::shared_ptr<HttpReply>;

// Adds routes whose parts must be loaded.
class LoadedRoutes {
 public:
  LoadedRoutes(Router& router, ServiceParts& parts) : router_(router), parts_(parts) {}

  template <class Answer>
  void operator()(const char* method, const char* pattern, Answer answer) {
    router_.add(method, pattern, [&parts = parts_, answer](HttpRequest request, Reply reply) {
      if (!parts.complete) return reply->respond(http_error(503, "the service is loading"));
      answer(request, std::move(reply));
    });
  }

  // The same for what may take a while: it runs on a thread that may wait, and its result is the answer.
  template <class Question>
  void later(const char* method, const char* pattern, Question question) {
    (*this)(method, pattern, [&parts = parts_, question](const HttpRequest& request, Reply reply) {
      if (!parts.work.submit([request, reply, question] { reply->respond(question(request)); }))
        reply->respond(busy_response());
    });
  }

 private:
  Router& router_;
  ServiceParts& parts_;
};

HttpResponse response_of(const Result<Json>& json, int status_if_wrong) {
  return json.ok() ? json_response(*json) : http_error(status_if_wrong, to_string(json.error()));
}

void add_agent_routes(LoadedRoutes& route, ServiceParts& parts) {
  route("GET", "/v1/models", [&](const HttpRequest&, Reply reply) { parts.chat->models(reply); });
  route("GET", "/v1/models/{name}",
        [&](const HttpRequest& request, Reply reply) { parts.chat->model(request.parts.at("name"), reply); });
  route("POST", "/v1/chat/completions",
        [&](const HttpRequest& request, Reply reply) { parts.chat->complete(request, reply, true); });
  route("POST", "/v1/completions",
        [&](const HttpRequest& request, Reply reply) { parts.chat->complete(request, reply, false); });
  route.later("GET", "/v1/judge", [&](const HttpRequest& request) { return parts.judges->facts_response(request); });
  route("POST", "/v1/judge", [&](const HttpRequest& request, Reply reply) { parts.judge_api->judge(request, reply); });
  route.later("POST", "/v1/prompt",
              [&](const HttpRequest& request) { return prompt_response(*parts.tasks, parts.prompts, request); });
  route.later("POST", "/v1/answer", [](const HttpRequest& request) { return answer_response(request); });
  route.later("POST", "/v1/draw", [](const HttpRequest& request) { return draw_response(request); });
  route("POST", "/v1/generate",
        [&](const HttpRequest& request, Reply reply) { parts.conversation_api->begin(request, reply, false); });
  route("POST", "/v1/optimize",
        [&](const HttpRequest& request, Reply reply) { parts.conversation_api->begin(request, reply, true); });
  route("GET", "/v1/conversations",
        [&](const HttpRequest& request, Reply reply) { parts.conversation_api->list(request, reply); });
  route("GET", "/v1/conversations/{id}", [&](const HttpRequest& request, Reply reply) {
    parts.conversation_api->show(request, reply, request.parts.at("id"));
  });
  route("GET", "/v1/conversations/{id}/events", [&](const HttpRequest& request, Reply reply) {
    parts.conversation_api->events(request, reply, request.parts.at("id"));
  });
  route("DELETE", "/v1/conversations/{id}", [&](const HttpRequest& request, Reply reply) {
    parts.conversation_api->cancel(request, reply, request.parts.at("id"));
  });
}

void add_run_routes(LoadedRoutes& route, ServiceParts& parts) {
  route("GET", "/v1/runs", [&](const HttpRequest&, Reply reply) { parts.runs->list(reply); });
  route("GET", "/v1/runs/{name}",
        [&](const HttpRequest& request, Reply reply) { parts.runs->show(request.parts.at("name"), reply); });
  route("GET", "/v1/runs/{name}/metrics", [&](const HttpRequest& request, Reply reply) {
    parts.runs->metrics(request.parts.at("name"), request, reply);
  });
  route("GET", "/v1/runs/{name}/texts",
        [&](const HttpRequest& request, Reply reply) { parts.runs->texts(request.parts.at("name"), reply); });
  route("GET", "/v1/runs/{name}/events",
        [&](const HttpRequest& request, Reply reply) { parts.runs->events(request.parts.at("name"), request, reply); });
}

void add_task_routes(LoadedRoutes& route, ServiceParts& parts) {
  route("GET", "/v1/tasks", [&](const HttpRequest&, Reply reply) {
    Json all = Json::array();
    for (const auto& [name, known] : parts.tasks->suite()) all.push_back(to_json(*known->task()));
    reply->respond(json_response({{"tasks", std::move(all)}}));
  });
  route("GET", "/v1/tasks/{name}", [&](const HttpRequest& request, Reply reply) {
    const auto known = parts.tasks->find(request.parts.at("name"));
    if (!known.ok()) return reply->respond(http_error(404, to_string(known.error())));
    Json json = to_json(*(*known)->task());
    json["yaml"] = (*known)->yaml();
    json["naive"] = (*known)->task()->naive.empty() ? Json(nullptr) : Json((*known)->task()->naive);
    reply->respond(json_response(json));
  });
}

// Who the trail names.
std::string actor_of(const HttpRequest& request, RequestFields& fields) {
  const std::string named = fields.text("actor", "", 100);
  if (!request.user.empty()) return named.empty() ? request.user : request.user + " (" + named + ")";
  return (named.empty() ? "somebody" : named) + " (web)";
}

// An experiment loads agents from files and decides what everybody gets.
bool may_change(const ServiceParts& parts, const HttpRequest& request, RequestFields& fields) {
  if (fields.problem()) return false;
  if (!parts.has_keys || parts.admins.contains(request.user)) return true;
  fields.answer_instead(http_error(403, "this key may not change experiments; `serve --admin NAME` lets it"));
  return false;
}

void add_experiment_routes(LoadedRoutes& route, ServiceParts& parts) {
  route.later("GET", "/v1/experiments",
              [&](const HttpRequest&) { return response_of(parts.experiments->list(), 500); });
  route.later("GET", "/v1/experiments/{name}", [&](const HttpRequest& request) {
    return response_of(parts.experiments->show(request.parts.at("name")), 404);
  });
  route.later("POST", "/v1/experiments", [&](const HttpRequest& request) {
    RequestFields fields(request);
    const std::string yaml = fields.text("yaml", "", 64u << 10), actor = actor_of(request, fields);
    if (!may_change(parts, request, fields)) return *fields.problem();
    return response_of(parts.experiments->create(yaml, actor), 400);
  });
  for (const char* verb : {"start", "promote", "abort"}) {
    const std::string pattern = std::string("/v1/experiments/{name}/") + verb;
    route.later("POST", pattern.c_str(), [&parts, verb = std::string(verb)](const HttpRequest& request) {
      RequestFields fields(request);
      const std::string actor = actor_of(request, fields), reason = fields.text("reason", "", 1000),
                        arm = fields.text("arm", "", 256);
      if (verb == "promote" && arm.empty()) fields.refuse("arm", "is missing: which arm should everybody get?");
      if (!may_change(parts, request, fields)) return *fields.problem();
      return response_of(parts.experiments->change(request.parts.at("name"), verb, arm, actor, reason), 400);
    });
  }
}

void answer_ready(const ServiceParts& parts, HttpReply& reply) {
  const char* reason = parts.not_ready;
  if (reason == nullptr) return reply.respond(json_response({{"ready", true}}));
  HttpResponse response = json_response({{"ready", false}, {"reason", reason}}, 503);
  response.headers.emplace_back("Retry-After", "1");
  reply.respond(std::move(response));
}

// What is there from the first moment.
void add_service_routes(Router& router, ServiceParts& parts) {
  router.add("GET", "/health",
             [](const HttpRequest&, Reply reply) { reply->respond(json_response({{"status", "ok"}})); });
  router.add("GET", "/ready", [&](const HttpRequest&, Reply reply) { answer_ready(parts, *reply); });
  router.add("GET", "/metrics", [&](const HttpRequest&, Reply reply) {
    reply->respond({200, "text/plain; version=0.0.4; charset=utf-8", parts.watch->metrics(), {}});
  });
  router.add("GET", "/openapi.json", [&](const HttpRequest&, Reply reply) {
    reply->respond({200, "application/json", parts.page.openapi(), {}});
  });
  router.add("GET", "/v1/service",
             [&](const HttpRequest&, Reply reply) { reply->respond(json_response(parts.description())); });
  router.add("GET", "/", [&](const HttpRequest&, Reply reply) { reply->respond(parts.page.file("index.html")); });
  router.add("GET", "/page/{file...}", [&](const HttpRequest& request, Reply reply) {
    reply->respond(parts.page.file(request.parts.at("file")));
  });
}

}  // namespace

void add_routes(Router& router, ServiceParts& parts) {
  LoadedRoutes route(router, parts);
  add_service_routes(router, parts);
  add_agent_routes(route, parts);
  add_run_routes(route, parts);
  add_task_routes(route, parts);
  add_experiment_routes(route, parts);
}

}  // namespace kw
