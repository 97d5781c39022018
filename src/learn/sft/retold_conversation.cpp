#include "learn/sft/retold_conversation.h"

#include "agents/normal_form/launcher_order.h"
#include "kernel/task/task_file.h"

namespace kw {

Result<RetoldConversation> RetoldConversation::from(const StoredEpisode& stored) {
  if (stored.task_text.empty()) return Error{"the store does not have the task of this conversation", "", {}};
  KW_TRY(Task task, parse_task(stored.task_text, "a stored conversation"));
  RetoldConversation retold;
  retold.asked_ = normal_form(task, stored.given_kernel.empty() ? AskedNames::learned : AskedNames::kept);
  retold.episode_.request.task = std::make_shared<const Task>(std::move(task));
  retold.episode_.request.kernel = stored.given_kernel;
  retold.episode_.request.level = stored.level;
  retold.episode_.given_verdict = stored.given_verdict;
  retold.episode_.turns = stored.turns;
  return retold;
}

Result<RetoldConversation::Retold> RetoldConversation::tell(const Turn& turn, const TurnSample& sample,
                                                            Scribe& scribe) const {
  // What was known when it was asked.
  Episode before = episode_;
  before.turns.resize(static_cast<std::size_t>(turn.index));
  PromptRequest question;
  question.role = turn.role;
  question.task = &asked_.task;
  question.level = before.request.level;
  std::string given;
  if (turn.role == AgentRole::optimizer) {
    before.current = turn.given_turn;
    const bool there =
        turn.given_turn < 0
            ? before.given_verdict != nullptr
            : chosen_sample(before.turns.at(static_cast<std::size_t>(turn.given_turn))).verdict != nullptr;
    if (!there) return Error{"the store does not have the kernel that was to be improved", "", {}};
    given = in_asked_order(asked_, kernel_of(before, turn.given_turn));
    question.level.clear();
    question.kernel = given;
    question.verdict = &verdict_of(before, turn.given_turn);
    question.tried = tried_before(before);
  }
  Retold retold;
  KW_TRY(retold.prompt, scribe.prompt_ids(question));
  KW_TRY(retold.answer, scribe.answer_ids(turn.role, in_asked_order(asked_, sample.kernel), given));
  return retold;
}

}  // namespace kw
