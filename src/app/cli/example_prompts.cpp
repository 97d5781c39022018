#include "app/cli/example_prompts.h"

#include "agents/agent/dialect.h"
#include "agents/grammar/problem.h"
#include "kernel/judge/verdict.h"
#include "kernel/task/task_file.h"

namespace kw::cli {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string text_at(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<ExamplePrompts> ExamplePrompts::make(PromptStyle style) {
  KW_TRY(const auto folder, prompts_folder());
  KW_TRY(PromptBook book, PromptBook::load(folder));
  return ExamplePrompts(style, std::move(book));
}

Result<void> ExamplePrompts::add(Json& line) const {
  const std::string kind = text_at(line, "kind");
  KW_TRY(const Task task, parse_task(dumped(line.at("task")), "store"));
  PromptRequest request;
  request.task = &task;
  request.kernel = text_at(line, "kernel");
  Verdict verdict;
  if (line.contains("verdict")) {
    KW_TRY(verdict, verdict_from_json(line["verdict"]));
    request.verdict = &verdict;
  }
  std::string said = text_at(line, "target");
  if (kind == "generate") {
    request.role = AgentRole::generator;
    request.level = level_text(text_at(line, "level"));
  } else if (kind == "report") {
    request.role = AgentRole::tester;
    said = compact_verdict(verdict);
  } else {
    request.role = AgentRole::optimizer;
  }
  KW_TRY(const Prompt prompt, book_.write(style_, request));
  line["prompt"] = prompt.text;
  if (style_ == PromptStyle::chatml) {
    Json messages = Json::array();
    for (const ChatMessage& message : prompt.messages)
      messages.push_back({{"role", message.role}, {"content", message.content}});
    line["messages"] = std::move(messages);
  }
  line["answer"] = answer_text(style_, request.role, said, request.kernel);
  return {};
}

std::string ExamplePrompts::level_text(const std::string& name) const {
  const auto level = level_from_name(name);
  return level && style_ == PromptStyle::chatml ? std::string(description_of(*level)) : name;
}

}  // namespace kw::cli
