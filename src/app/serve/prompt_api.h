#pragma once
// POST /v1/prompt: what an agent is told about a task, a kernel and its verdict. POST /v1/answer: the kernel in what a
// model answered. For programs that train or ask models of their own in the agents' words.

#include <optional>

#include "agents/agent/prompt.h"
#include "agents/normal_form/normal_form.h"
#include "app/serve/request_fields.h"
#include "app/serve/task_book.h"

namespace kw {

// Whose words a question is put in: the member `words`. A kernel that answers one in the learned words may have its
// launcher's parameters in another order than the task (launcher_order.h).
enum class QuestionWords : std::uint8_t {
  task,     // as the task is written
  learned,  // of drawn tasks, with their names: what our agents read
  kept,     // of drawn tasks, with the task's names
};
QuestionWords read_question_words(RequestFields& fields);
// None: the task is asked as it is written.
std::optional<NormalForm> asked_form(const Task& task, QuestionWords words);

HttpResponse prompt_response(TaskBook& tasks, const PromptBook& prompts, const HttpRequest& request);
HttpResponse answer_response(const HttpRequest& request);

}  // namespace kw
