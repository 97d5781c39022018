#pragma once
// ChatML, the form of a conversation that Qwen2.5 and SmolLM2 were trained on.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/tokenizer.h"

namespace kw {

struct ChatMessage {
  std::string role;  // system, user or assistant
  std::string content;
};

struct ChatOptions {
  // Put first where the conversation does not start with a system message; the models' own templates each have theirs.
  std::optional<std::string> default_system;
  // Ends with the start of the assistant's turn.
  bool generation_prompt = true;
};

std::string chatml_text(const std::vector<ChatMessage>& messages, const ChatOptions& options = {});

// The ids of chatml_text, except that control tokens written inside a message stay text: a message cannot end its own
// turn.
Result<std::vector<TokenId>> chatml_ids(Encoder& encoder, const Tokenizer& tokenizer,
                                        const std::vector<ChatMessage>& messages, const ChatOptions& options = {});

}  // namespace kw
