#include "model/tokenizer/chatml.h"

namespace kw {
namespace {

constexpr std::string_view turn_start = "<|im_start|>";
constexpr std::string_view turn_end = "<|im_end|>";

std::vector<ChatMessage> with_system(const std::vector<ChatMessage>& messages, const ChatOptions& options) {
  std::vector<ChatMessage> all;
  if (options.default_system && (messages.empty() || messages.front().role != "system")) {
    all.push_back({"system", *options.default_system});
  }
  all.insert(all.end(), messages.begin(), messages.end());
  return all;
}

}  // namespace

std::string chatml_text(const std::vector<ChatMessage>& messages, const ChatOptions& options) {
  std::string text;
  for (const ChatMessage& message : with_system(messages, options)) {
    text.append(turn_start).append(message.role).append("\n").append(message.content).append(turn_end).append("\n");
  }
  if (options.generation_prompt) text.append(turn_start).append("assistant\n");
  return text;
}

Result<std::vector<TokenId>> chatml_ids(Encoder& encoder, const Tokenizer& tokenizer,
                                        const std::vector<ChatMessage>& messages, const ChatOptions& options) {
  const auto start = tokenizer.find(turn_start), end = tokenizer.find(turn_end);
  if (!start || !end)
    return Error{"the vocabulary has no <|im_start|> and <|im_end|>", "use a chat model's tokenizer", {}};
  std::vector<TokenId> ids;
  const auto append = [&](std::string_view text) -> Result<void> {
    KW_TRY(const auto part, encoder.encode(text));
    ids.insert(ids.end(), part.begin(), part.end());
    return {};
  };
  for (const ChatMessage& message : with_system(messages, options)) {
    ids.push_back(*start);
    KW_TRY_VOID(append(message.role + "\n" + message.content));
    ids.push_back(*end);
    KW_TRY_VOID(append("\n"));
  }
  if (options.generation_prompt) {
    ids.push_back(*start);
    KW_TRY_VOID(append("assistant\n"));
  }
  return ids;
}

}  // namespace kw
