#include "app/serve/prompt_api.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agents/agent/answer_json.h"
#include "agents/grammar/problem.h"
#include "agents/normal_form/launcher_order.h"
#include "app/serve/api_json.h"
#include "kernel/judge/verdict_file.h"

namespace kw {
namespace {

constexpr std::size_t max_tried = 64;
constexpr std::size_t max_answer_text = 4u << 20;  // what is too long for an agent is read, and said to be too long

// What a conversation has tried before: kernels with their verdicts' status and speedup.
std::vector<TriedKernel> read_tried(RequestFields& fields) {
  std::vector<TriedKernel> tried;
  const nlohmann::json& list = fields.value("tried");
  if (list.is_null()) return tried;
  if (!list.is_array() || list.size() > max_tried) {
    fields.refuse("tried", fmt::format("must be a list of at most {} kernels", max_tried));
    return tried;
  }
  for (const nlohmann::json& one : list) {
    if (!one.is_object()) {
      fields.refuse("tried", "must be a list of {\"kernel\", \"status\", \"speedup\"}");
      return tried;
    }
    RequestFields members(one);
    TriedKernel before;
    before.strategies = strategies_of(members.text("kernel", "", max_prompt_kernel_bytes));
    const auto status = verdict_status_from_string(members.text("status", "correct", 100));
    if (!status) members.refuse("status", "is none of docs/verdict.md");
    before.status = status.value_or(VerdictStatus::correct);
    if (members.has("speedup")) before.speedup = members.number("speedup", 1, 0, 1e9);
    if (members.problem()) fields.refuse("tried", "is wrong: " + members.problem()->body);
    tried.push_back(std::move(before));
  }
  return tried;
}

struct PromptWish {
  PromptRequest request;
  PromptStyle style = PromptStyle::chatml;
  QuestionWords words = QuestionWords::task;
  std::optional<Verdict> verdict;
};

PromptWish read_prompt_wish(RequestFields& fields) {
  PromptWish wish;
  PromptRequest& asked = wish.request;
  asked.kernel = fields.text("kernel", "", max_prompt_kernel_bytes);
  const auto role = agent_role_from_string(fields.text("role", asked.kernel.empty() ? "generator" : "optimizer", 100));
  if (!role) fields.refuse("role", "must be generator, optimizer or tester");
  asked.role = role.value_or(AgentRole::generator);
  const std::string style = fields.text("style", "chatml", 100);
  if (style != "chatml" && style != "compact") fields.refuse("style", "must be chatml or compact");
  wish.style = style == "compact" ? PromptStyle::compact : PromptStyle::chatml;
  wish.words = read_question_words(fields);
  asked.level = fields.text("level", "", 100);
  const auto levels = all_level_names();
  if (!asked.level.empty() && std::find(levels.begin(), levels.end(), asked.level) == levels.end())
    fields.refuse("level", fmt::format("must be one of {}", fmt::join(levels, ", ")));
  if (fields.has("target")) asked.target = fields.number("target", 2, 1e-6, 1e6);
  asked.tried = read_tried(fields);
  if (fields.value("task").is_null())
    fields.refuse("task", "is missing: a name of the suite, or {\"yaml\": the task's text}");
  if (fields.has("verdict")) {
    auto verdict = read_verdict_text(fields.value("verdict").dump(-1, ' ', false, Json::error_handler_t::replace));
    if (verdict.ok())
      wish.verdict = std::move(verdict).value();
    else
      fields.refuse("verdict", "is none: " + verdict.error().message);
  }
  return wish;
}

}  // namespace

QuestionWords read_question_words(RequestFields& fields) {
  const std::string words = fields.text("words", "task", 100);
  if (words == "learned") return QuestionWords::learned;
  if (words == "kept") return QuestionWords::kept;
  if (words != "task") fields.refuse("words", "must be task, learned or kept");
  return QuestionWords::task;
}

std::optional<NormalForm> asked_form(const Task& task, QuestionWords words) {
  if (words == QuestionWords::task) return std::nullopt;
  return normal_form(task, words == QuestionWords::learned ? AskedNames::learned : AskedNames::kept);
}

HttpResponse prompt_response(TaskBook& tasks, const PromptBook& prompts, const HttpRequest& request) {
  RequestFields fields(request);
  PromptWish wish = read_prompt_wish(fields);
  if (fields.problem()) return *fields.problem();
  const auto known = tasks.find(fields.value("task"));
  if (!known.ok()) return http_error(400, to_string(known.error()), "task");
  const Task& task = *(*known)->task();
  if (wish.verdict && wish.verdict->task != task.name)
    return http_error(400, fmt::format("the verdict is of the task {}", wish.verdict->task), "verdict");
  const std::optional<NormalForm> form = asked_form(task, wish.words);
  wish.request.task = form ? &form->task : &task;
  wish.request.verdict = wish.verdict ? &*wish.verdict : nullptr;
  if (form && !wish.request.kernel.empty()) wish.request.kernel = in_asked_order(*form, wish.request.kernel);
  const auto prompt = prompts.write(wish.style, wish.request);
  if (!prompt.ok()) return http_error(400, to_string(prompt.error()));
  Json json{{"role", to_string(wish.request.role)},
            {"style", wish.style == PromptStyle::compact ? "compact" : "chatml"},
            {"messages", Json::array()},
            {"text", prompt->text},
            {"not_understood", form && !form->not_understood.empty() ? Json(form->not_understood) : Json(nullptr)}};
  for (const ChatMessage& message : prompt->messages)
    json["messages"].push_back({{"role", message.role}, {"content", message.content}});
  return json_response(json);
}

HttpResponse answer_response(const HttpRequest& request) {
  RequestFields fields(request);
  const std::string text = fields.text("answer", "", max_answer_text);
  if (!fields.has("answer")) fields.refuse("answer", "is missing: what the model said");
  if (fields.problem()) return *fields.problem();
  return json_response(to_json(parse_answer(text)));
}

}  // namespace kw
