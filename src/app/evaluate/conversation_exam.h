#pragma once
// The exam with several turns: every question begins a conversation, the Optimizer goes on with what the judge said. No
// conversation ends early because it is good enough, so that budgets can be compared.

#include <vector>

#include "agents/episode/episode_engine.h"
#include "app/evaluate/evaluation.h"

namespace kw {

struct ConversationExam {
  std::vector<EvaluatedAnswer> answers;  // of all turns; sample: the conversation
  std::vector<Episode> episodes;         // in the order of questions, then samples
  double seconds = 0;
  bool interrupted = false;
};

// options.samples conversations for each question, one answer a turn; options.progress counts turns.
Result<ConversationExam> hold_conversations(Rollout& rollout, const Dialect& dialect, Judge& judge,
                                            const std::vector<ExamQuestion>& questions,
                                            const std::function<std::int32_t(AgentRole)>& adapter_of, int turns,
                                            const ExamOptions& options);

}  // namespace kw
