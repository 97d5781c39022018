#include "agents/search/search_agents.h"

#include <chrono>
#include <map>
#include <thread>

#include "agents/agent/answer_constraint.h"
#include "agents/agent/constant_answer.h"
#include "agents/normal_form/launcher_order.h"
#include "base/log.h"

namespace kw {
namespace {

// Answers come from elsewhere: how long to wait before asking again whether there are any.
constexpr std::chrono::milliseconds patience{20};

}  // namespace

SearchAgents::SearchAgents(AnswerSource& answers, const Dialect& dialect, AdapterOf adapter_of, const Task& task,
                           AgentLimits limits)
    : answers_(answers),
      dialect_(dialect),
      scribe_(dialect),
      adapter_of_(std::move(adapter_of)),
      limits_(limits),
      learned_(normal_form(task, AskedNames::learned)),
      kept_(normal_form(task, AskedNames::kept)) {}

Result<std::optional<RequestId>> SearchAgents::submit(const SearchQuestion& question,
                                                      const std::function<ShownKernel(int)>& shown, Asked& asked) {
  PromptRequest prompt;
  ShownKernel parent;
  const bool optimizes = question.from == SearchOperator::optimizer;
  if (optimizes) parent = shown(question.parent);
  const NormalForm& form = parent.names == AskedNames::learned ? learned_ : kept_;
  asked.form = &form;
  prompt.task = &form.task;
  prompt.role = optimizes ? AgentRole::optimizer : AgentRole::generator;
  if (optimizes) {
    prompt.kernel = in_asked_order(form, parent.kernel);
    prompt.verdict = parent.verdict.get();
    prompt.tried = parent.tried;
    prompt.device = limits_.device;
    // Answers that are held to a whole kernel cannot be short.
    prompt.short_answers = !limits_.constrain || answers_.elsewhere();
    asked.given = prompt.kernel;
  } else {
    prompt.level = question.level;
  }
  auto ids = scribe_.prompt_ids(prompt);
  GenerationRequest request;
  if (ids.ok()) {
    request.prompt = std::move(ids).value();
    request.samples = question.samples;
    request.rule = {question.temperature, 0, limits_.top_p, question.seed};
    request.max_tokens = limits_.answer_tokens;
    request.stop_tokens.assign(dialect_.stop_tokens().begin(), dialect_.stop_tokens().end());
    request.adapter = adapter_of_(prompt.role);
    if (limits_.constrain) {
      request.constraint = make_answer_constraint(dialect_.masks(), expected_parameters(form.task, prompt.kernel));
      request.most_resamples = question.temperature > 0 ? limits_.most_resamples : 0;
    }
    auto submitted = answers_.submit(std::move(request));
    if (submitted.ok()) return std::optional(*submitted);
    ids = submitted.error();
  }
  log_event(LogLevel::debug, "search_question_refused", {{"reason", to_string(ids.error())}});
  return std::optional<RequestId>();
}

Result<std::optional<AnsweredKernels>> SearchAgents::ask(const std::vector<SearchQuestion>& questions,
                                                         const std::function<ShownKernel(int)>& shown,
                                                         const std::function<bool()>& go_on) {
  std::vector<Asked> asked(questions.size());
  std::map<RequestId, std::size_t> waiting;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    KW_TRY(const auto request, submit(questions[i], shown, asked[i]));
    if (request) waiting[*request] = i;
  }
  const auto drop = [&] {
    for (const auto& [request, place] : waiting) answers_.cancel(request);
    answers_.settle();
    answers_.take_finished();
  };
  while (!waiting.empty()) {
    if (!go_on()) {
      drop();
      return std::optional<AnsweredKernels>();
    }
    const auto moved = answers_.advance();
    if (!moved.ok()) {
      drop();
      return moved.error();
    }
    if (!*moved && answers_.elsewhere()) std::this_thread::sleep_for(patience);
    for (GenerationResult& result : answers_.take_finished()) {
      const auto found = waiting.find(result.id);
      if (found == waiting.end()) continue;
      Asked& one = asked[found->second];
      for (const GeneratedSample& said : result.samples) {
        Answer answer = dialect_.read_answer(said.text, said.finish == FinishReason::stop_token);
        answer = with_constants_changed(std::move(answer), said.text, one.given);
        one.kernels.push_back(answer.kernel.empty() ? "" : in_task_order(*one.form, answer.kernel));
      }
      waiting.erase(found);
    }
  }
  AnsweredKernels kernels;
  for (Asked& one : asked) kernels.push_back(std::move(one.kernels));
  return std::optional(std::move(kernels));
}

}  // namespace kw
