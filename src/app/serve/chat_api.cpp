#include "app/serve/chat_api.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <chrono>
#include <optional>

#include "agents/normal_form/launcher_order.h"
#include "agents/normal_form/normal_form.h"
#include "app/serve/api_json.h"
#include "app/serve/chat_answer.h"

namespace kw {
namespace {

constexpr std::string_view generator_name = "kernelwright-generator", optimizer_name = "kernelwright-optimizer";

std::uint64_t random_number() {
  std::uint64_t number = 0;
  KW_CHECK(::getrandom(&number, sizeof number, 0) == static_cast<ssize_t>(sizeof number));
  return number;
}

struct NamedModel {
  std::string set;  // empty: the default
  Speaker speaker = Speaker::base;
};

// "kernelwright-generator", "kernelwright-generator@smollm2", "smollm2".
NamedModel model_named(const std::string& name) {
  for (const auto& [agent, speaker] :
       {std::pair{generator_name, Speaker::generator}, std::pair{optimizer_name, Speaker::optimizer}}) {
    if (name == agent) return {"", speaker};
    if (name.starts_with(agent) && name[agent.size()] == '@') return {name.substr(agent.size() + 1), speaker};
  }
  return {name, Speaker::base};
}

// `prompts` tells another Kernelwright, which may take a model of this one as its agents, how to ask the bare model.
Json model_json(const AgentSets& sets, const std::string& id) {
  Json json{{"id", id}, {"object", "model"}, {"created", 0}, {"owned_by", "kernelwright"}};
  const NamedModel named = model_named(id);
  const auto agents = sets.find(named.set);
  if (agents && named.speaker == Speaker::base) {
    json["prompts"] = agents->model().dialect().style() == PromptStyle::compact ? "compact" : "chatml";
    json["max_model_len"] = agents->context();
    json["learned_from"] = agents->model().learned_from();
  }
  return json;
}

std::vector<std::string> model_names(const AgentSets& sets) {
  std::vector<std::string> names;
  for (const std::string& set : sets.names()) {
    const std::string at = names.empty() ? "" : "@" + set;
    names.push_back(std::string(generator_name) + at);
    names.push_back(std::string(optimizer_name) + at);
    names.push_back(set);
  }
  return names;
}

HttpResponse no_such_model(const std::string& name) {
  return http_error(404, fmt::format("there is no model '{}'; GET /v1/models lists them", name), "model",
                    "model_not_found");
}

}  // namespace

// One request on its way to the model.
struct ChatApi::Asked {
  ChatRequest request;
  NamedModel model;
  std::shared_ptr<AgentService> agents;
  std::shared_ptr<HttpReply> reply;
  AgentQuestion question;                  // of an agent
  std::shared_ptr<const Verdict> verdict;  // of its kernel
  NormalForm form;                         // in which the agent was asked
};

void ChatApi::models(std::shared_ptr<HttpReply> reply) const {
  Json data = Json::array();
  for (const std::string& name : model_names(sets_)) data.push_back(model_json(sets_, name));
  reply->respond({200, "application/json", Json{{"object", "list"}, {"data", std::move(data)}}.dump(), {}});
}

void ChatApi::model(const std::string& name, std::shared_ptr<HttpReply> reply) const {
  for (const std::string& known : model_names(sets_))
    if (known == name) return reply->respond({200, "application/json", model_json(sets_, name).dump(), {}});
  reply->respond(no_such_model(name));
}

void ChatApi::complete(const HttpRequest& request, std::shared_ptr<HttpReply> reply, bool chat) {
  RequestFields fields(request);
  auto asked = std::make_shared<Asked>();
  asked->request = read_chat_request(fields, chat);
  if (fields.problem()) return reply->respond(*fields.problem());
  asked->model = model_named(asked->request.model);
  asked->agents = sets_.find(asked->model.set);
  if (!asked->agents) return reply->respond(no_such_model(asked->request.model));
  asked->reply = std::move(reply);
  if (!work_.submit([this, asked] { ask(asked); })) asked->reply->respond(busy_response());
}

void ChatApi::ask(const std::shared_ptr<Asked>& asked) {
  if (asked->reply->gone()) return;
  const bool of_agent = asked->request.chat && asked->model.speaker != Speaker::base;
  if (!asked->request.chat) return submit(asked, asked->agents->prompt_of(asked->request.prompt));
  if (!of_agent) return submit(asked, asked->agents->prompt_of(asked->request.messages, asked->model.speaker));

  auto question = read_agent_question(tasks_, asked->request.messages);
  if (!question.ok()) return asked->reply->respond(http_error(400, to_string(question.error()), "messages"));
  asked->question = std::move(question).value();
  if (asked->model.speaker == Speaker::generator) return ask_agent(asked);
  if (asked->question.kernel.empty())
    return asked->reply->respond(
        http_error(400, "the Optimizer needs a kernel: put it in a ```cuda block", "messages"));
  // The Optimizer reads what the judge says of the kernel.
  const auto ticket = judges_.submit(
      asked->question.task->task(), asked->question.kernel,
      [this, asked](std::shared_ptr<const Verdict> verdict) {
        asked->verdict = std::move(verdict);
        if (!work_.submit([this, asked] { ask_agent(asked); })) asked->reply->respond(busy_response());
      },
      std::chrono::milliseconds(0));
  if (!ticket) asked->reply->respond(http_error(429, "too many kernels are waiting to be judged"));
}

void ChatApi::ask_agent(const std::shared_ptr<Asked>& asked) {
  const bool optimize = asked->model.speaker == Speaker::optimizer;
  asked->form = normal_form(*asked->question.task->task(), optimize ? AskedNames::kept : AskedNames::learned);
  PromptRequest prompt;
  prompt.role = optimize ? AgentRole::optimizer : AgentRole::generator;
  prompt.task = &asked->form.task;
  if (optimize) {
    prompt.kernel = in_asked_order(asked->form, asked->question.kernel);
    prompt.verdict = asked->verdict.get();
  }
  Scribe scribe(asked->agents->model().dialect());
  submit(asked, scribe.prompt_ids(prompt));
}

void ChatApi::submit(const std::shared_ptr<Asked>& asked, Result<std::vector<std::int32_t>> prompt) {
  if (!prompt.ok()) return asked->reply->respond(http_error(400, to_string(prompt.error()), "messages"));
  const ChatRequest& request = asked->request;
  AgentService::AnswerRequest answer;
  answer.prompt = std::move(prompt).value();
  answer.speaker = asked->model.speaker;
  answer.samples = request.answers;
  answer.max_tokens = request.max_tokens;
  answer.rule = {static_cast<float>(request.temperature), 0, static_cast<float>(request.top_p),
                 request.seed.value_or(random_number())};
  answer.stop = request.stop;
  ChatAnswer::Facts facts{fmt::format("{}-{:016x}", request.chat ? "chatcmpl" : "cmpl", random_number()),
                          static_cast<std::int64_t>(seconds_since_1970()),
                          static_cast<std::int64_t>(answer.prompt.size()), nullptr};
  // The launcher that the agent wrote has its parameters in another order than the task.
  if (asked->form.has_other_launcher()) {
    facts.rewrite = [asked](const std::string& said) {
      const Answer read = asked->agents->model().dialect().read_answer(said, true);
      return read.outcome == AnswerOutcome::kernel ? in_task_order(asked->form, read.kernel) : said;
    };
  }
  auto writing = std::make_shared<ChatAnswer>(request, std::move(facts), asked->agents->tokenizer(), asked->reply);
  // The head of a stream goes out when it is sure that there is something to stream.
  auto begun = std::make_shared<std::once_flag>();
  const auto ticket = asked->agents->answer(
      std::move(answer),
      [writing, begun](const TokenEvent& event) {
        std::call_once(*begun, [&] { writing->begin(); });
        writing->take(event);
      },
      [writing, begun, asked](Result<GenerationResult> result) {
        std::call_once(*begun, [&] { writing->begin(); });
        writing->end(result);
      });
  if (!ticket.ok()) {
    const bool full = ticket.error().message.find("too many") != std::string::npos;
    return asked->reply->respond(http_error(full ? 429 : 400, to_string(ticket.error())));
  }
  asked->reply->on_gone([agents = std::weak_ptr(asked->agents), ticket = *ticket] {
    if (const auto service = agents.lock()) service->cancel(ticket);
  });
}

}  // namespace kw
