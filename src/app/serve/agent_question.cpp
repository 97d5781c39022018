#include "app/serve/agent_question.h"

#include <fmt/format.h>

#include <algorithm>

namespace kw {
namespace {

constexpr std::size_t max_kernel_bytes = 64u << 10;

std::string trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return "";
  return std::string(text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1));
}

struct Block {
  std::string language;
  std::string text;
};

// Fenced blocks, and what is outside of them.
struct Parts {
  std::vector<Block> blocks;
  std::string outside;
};

Parts parts_of(std::string_view text) {
  Parts parts;
  bool inside = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) parts.blocks.push_back({trimmed(line.substr(3)), ""});
      continue;
    }
    std::string& to = inside ? parts.blocks.back().text : parts.outside;
    to.append(line).push_back('\n');
  }
  return parts;
}

bool is_cuda(const Block& block) {
  for (const char* name : {"cuda", "cu", "cpp", "c++", "c"})
    if (block.language == name) return true;
  return block.language.empty() && block.text.find("__global__") != std::string::npos;
}

}  // namespace

Result<AgentQuestion> read_agent_question(TaskBook& tasks, const std::vector<ChatMessage>& messages) {
  const auto last =
      std::find_if(messages.rbegin(), messages.rend(), [](const ChatMessage& one) { return one.role == "user"; });
  if (last == messages.rend()) return Error{"there is no message of the user", "", {}};
  const Parts parts = parts_of(last->content);
  AgentQuestion question;
  std::string task = trimmed(parts.outside);
  for (const Block& block : parts.blocks) {
    if (is_cuda(block))
      question.kernel = block.text;
    else
      task = block.text;
  }
  if (question.kernel.size() > max_kernel_bytes) return Error{"the kernel is too long", "", {}};
  const bool is_name = task.find_first_of("\n: ") == std::string::npos;
  auto found = is_name ? tasks.find(nlohmann::json(task)) : tasks.from_yaml(task);
  if (!found.ok())
    return Error{
        fmt::format("the message names no task: {}", found.error().message),
        "ask an agent with a task's name ('softmax') or its YAML, in a fenced block if there is more text; the "
        "Optimizer also needs a kernel in a ```cuda block",
        {}};
  question.task = std::move(found).value();
  return question;
}

}  // namespace kw
