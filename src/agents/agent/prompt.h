#pragma once
// Prompts of the three agents, from the templates in prompts/.

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "agents/agent/prompt_values.h"
#include "model/tokenizer/chatml.h"

namespace kw {

enum class PromptStyle : std::uint8_t {
  compact,  // for the tiny model: one text, keywords that are one token each
  chatml,   // for pretrained chat models: messages
};

struct Prompt {
  PromptStyle style = PromptStyle::compact;
  std::vector<ChatMessage> messages;  // chatml only; make ids with chatml_ids
  // What the model continues. In the compact form the keywords of the template are the only control tokens in it, so it
  // may be encoded with control tokens recognised.
  std::string text;
};

inline constexpr std::size_t max_prompt_kernel_bytes = std::size_t{64} << 10;

class PromptBook {
 public:
  // Reads and checks all templates.
  static Result<PromptBook> load(const std::filesystem::path& folder);

  // Fails when the request lacks what its role needs (a task; for the Optimizer a kernel and its verdict; for the
  // Tester a kernel), or the kernel is too long or no text.
  Result<Prompt> write(PromptStyle style, const PromptRequest& request) const;
  // ChatML: what an agent is told first, where nothing is known of a task yet.
  Result<std::string> system_message(AgentRole role) const;

 private:
  std::map<std::string, Template> templates_;  // "chatml/optimizer_user"
};

// KERNELWRIGHT_PROMPTS, or prompts/ beside the program or above it.
Result<std::filesystem::path> prompts_folder();

}  // namespace kw
