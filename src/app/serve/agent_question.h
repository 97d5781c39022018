#pragma once
// What a chat client asks an agent: a task, and for the Optimizer a kernel, in the words of a message. The agent is
// asked as it was taught, with the prompt that training used, not with the client's sentences.

#include <optional>
#include <string>
#include <vector>

#include "app/serve/task_book.h"
#include "model/tokenizer/chatml.h"

namespace kw {

struct AgentQuestion {
  std::shared_ptr<KnownTask> task;
  std::string kernel;  // of the last CUDA block; empty without one
};

// The last message of the user: a task's name or its YAML (alone, or in a fenced block), and a kernel in a fenced block
// of CUDA or C++. An error says how to ask.
Result<AgentQuestion> read_agent_question(TaskBook& tasks, const std::vector<ChatMessage>& messages);

}  // namespace kw
