#include "agents/service/chat_prompt.h"

#include <algorithm>

#include <fmt/format.h>

namespace kw {
namespace {

Result<std::vector<ChatMessage>> checked(const std::vector<ChatMessage>& messages) {
  std::vector<ChatMessage> known = messages;
  std::size_t bytes = 0;
  for (ChatMessage& message : known) {
    if (message.role == "developer") message.role = "system";
    if (message.role != "system" && message.role != "user" && message.role != "assistant")
      return Error{
          fmt::format("a message has the role '{}'", message.role.substr(0, 40)), "system, user or assistant", {}};
    bytes += message.content.size();
  }
  if (bytes > max_chat_bytes) return Error{"the messages are too long", "at most 1 MiB together", {}};
  if (std::ranges::none_of(known, [](const ChatMessage& message) { return message.role == "user"; }))
    return Error{"no message is a user's", "ask something", {}};
  return known;
}

Result<std::vector<TokenId>> chatml_prompt(Encoder& encoder, const Dialect& dialect,
                                           const std::vector<ChatMessage>& messages, Speaker speaker,
                                           const std::string& base_system) {
  std::string system = base_system;
  if (const auto role = role_of(speaker)) {
    KW_TRY(system, dialect.prompts().system_message(*role));
  }
  ChatOptions options;
  if (!system.empty()) options.default_system = system;
  return chatml_ids(encoder, dialect.tokenizer(), messages, options);
}

// The compact form, keyword by keyword: a keyword inside a message stays text.
class CompactPrompt {
 public:
  CompactPrompt(Encoder& encoder, const Tokenizer& tokenizer) : encoder_(encoder), tokenizer_(tokenizer) {}

  Result<void> add(std::string_view keyword, std::string_view text) {
    const auto id = tokenizer_.find(std::string(keyword));
    if (!id) return Error{fmt::format("the vocabulary has no {}", keyword), "", {}};
    ids_.push_back(*id);
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    if (!text.empty()) KW_TRY_VOID(encode(std::string(text) + "\n"));
    return {};
  }
  // A keyword that stands on a line of its own.
  Result<void> add_block(std::string_view keyword, std::string_view text) {
    return add(keyword, "\n" + std::string(text));
  }

  std::vector<TokenId> take() { return std::move(ids_); }

 private:
  Result<void> encode(const std::string& text) {
    KW_TRY(const auto ids, encoder_.encode(text));
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    return {};
  }

  Encoder& encoder_;
  const Tokenizer& tokenizer_;
  std::vector<TokenId> ids_;
};

// The last message of this role before `end`; none: messages.rend().
auto last_of(const std::vector<ChatMessage>& messages, std::string_view role, std::size_t end) {
  const auto begin = messages.rbegin() + static_cast<std::ptrdiff_t>(messages.size() - end);
  return std::find_if(begin, messages.rend(), [&](const ChatMessage& message) { return message.role == role; });
}

// Without this the model would read its keyword twice, the second time as text.
bool is_whole_prompt(std::string_view text) {
  return text.starts_with("<|gen|>") || text.starts_with("<|opt|>") || text.starts_with("<|test|>");
}

Result<std::vector<TokenId>> compact_prompt(Encoder& encoder, const Dialect& dialect,
                                            const std::vector<ChatMessage>& messages, Speaker speaker) {
  CompactPrompt prompt(encoder, dialect.tokenizer());
  const auto asked = last_of(messages, "user", messages.size());
  if (speaker == Speaker::base && is_whole_prompt(asked->content))
    return encoder.encode(asked->content, SpecialTokens::recognised);
  if (speaker != Speaker::optimizer) {
    KW_TRY_VOID(prompt.add("<|gen|>", asked->content));
    KW_TRY_VOID(prompt.add("<|kernel|>", ""));
    return prompt.take();
  }
  const auto place = [&](auto message) { return static_cast<std::size_t>(messages.rend() - message) - 1; };
  const auto kernel = last_of(messages, "assistant", place(asked));
  const auto task = kernel == messages.rend() ? kernel : last_of(messages, "user", place(kernel));
  if (task == messages.rend())
    return Error{"the Optimizer is asked about a kernel",
                 "three messages: the user's task, the assistant's kernel, what the judge says as the user's",
                 {}};
  KW_TRY_VOID(prompt.add("<|opt|>", task->content));
  KW_TRY_VOID(prompt.add_block("<|kernel|>", kernel->content));
  KW_TRY_VOID(prompt.add("<|verdict|>", asked->content));
  KW_TRY_VOID(prompt.add("<|kernel|>", ""));
  return prompt.take();
}

}  // namespace

std::string_view to_string(Speaker speaker) {
  const auto role = role_of(speaker);
  return role ? to_string(*role) : "base";
}

std::optional<AgentRole> role_of(Speaker speaker) {
  switch (speaker) {
    case Speaker::base:
      return std::nullopt;
    case Speaker::generator:
      return AgentRole::generator;
    case Speaker::optimizer:
      return AgentRole::optimizer;
  }
  return std::nullopt;
}

Result<std::vector<TokenId>> chat_prompt(Encoder& encoder, const Dialect& dialect,
                                         const std::vector<ChatMessage>& messages, Speaker speaker,
                                         const std::string& base_system) {
  KW_TRY(const std::vector<ChatMessage> known, checked(messages));
  if (dialect.style() == PromptStyle::compact) return compact_prompt(encoder, dialect, known, speaker);
  return chatml_prompt(encoder, dialect, known, speaker, base_system);
}

}  // namespace kw
