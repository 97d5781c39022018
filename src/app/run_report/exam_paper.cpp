#include "app/run_report/exam_paper.h"

#include <fmt/format.h>

#include "agents/agent/answer.h"
#include "base/agent_role.h"
#include "base/file.h"
#include "base/run_log/json_text.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t most_answers = 4000;
constexpr std::size_t most_paper_bytes = std::size_t{64} << 20;

std::string text_in(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

std::optional<PaperAnswer> answer_in(const Json& json) {
  const auto role = agent_role_from_string(text_in(json, "role"));
  if (!role || *role == AgentRole::tester) return {};
  PaperAnswer answer;
  answer.given = text_in(json, "given");
  answer.given_verdict = text_in(json, "given_verdict");
  if (*role == AgentRole::optimizer)
    answer.kind = answer.given_verdict.starts_with("correct") ? QuestionKind::improve : QuestionKind::repair;
  answer.family = text_in(json, "family");
  answer.question = text_in(json, "signature") + "\n" + text_in(json, "operation");
  answer.text = text_in(json, "text");
  answer.outcome = text_in(json, "outcome");
  answer.status = verdict_status_from_string(text_in(json, "status"));
  answer.summary = text_in(json, "summary");
  if (json.contains("speedup_naive") && json["speedup_naive"].is_number())
    answer.speedup = json["speedup_naive"].get<double>();
  return answer;
}

}  // namespace

Result<std::vector<PaperAnswer>> read_exam_paper(const std::filesystem::path& file) {
  KW_TRY(const std::string text, read_file(file, most_paper_bytes));
  std::vector<PaperAnswer> answers;
  for (std::size_t at = 0; at < text.size() && answers.size() < most_answers;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto json = parse_bounded_ordered_json(std::string_view(text).substr(at, end - at), stored_json_line);
    at = end + 1;
    if (!json.ok()) continue;
    if (auto answer = answer_in(*json)) answers.push_back(std::move(*answer));
  }
  return answers;
}

ReportConversation report_conversation(const PaperAnswer& answer) {
  ReportConversation conversation{answer.family, "", answer.question, {}};
  if (!answer.given.empty()) {
    ReportTurn given;
    given.agent = "given";
    given.kernel = answer.given;
    given.status = answer.kind == QuestionKind::improve ? "correct" : "not right";
    given.good = answer.kind == QuestionKind::improve;
    given.summary = answer.given_verdict;
    conversation.turns.push_back(std::move(given));
  }
  ReportTurn turn;
  turn.agent = answer.given.empty() ? "generator" : "optimizer";
  turn.status = answer.status ? std::string(to_string(*answer.status)) : answer.outcome;
  turn.good = answer.correct();
  turn.summary = answer.summary;
  if (answer.speedup && answer.correct()) turn.speed = fmt::format("{:.2f} x naive", *answer.speedup);
  turn.kernel = answer.text;
  conversation.turns.push_back(std::move(turn));
  return conversation;
}

}  // namespace kw
