#pragma once
// What a chat becomes for a model: token ids in the form that it was taught.
//
// ChatML: the messages as they are; where none is a system message, the speaker's own comes first. Compact (the tiny
// agents): a task, as `signature` and `operation` lines (prompts/README.md), is the last message of a user. The
// Optimizer is asked about the last message of an assistant, a kernel: the user's message before it is the task, the
// one after it what the judge says. System messages have no place in that form, and no history has. The bare
// model also takes a whole prompt of that form, keywords and all, as POST /v1/prompt writes it: what /v1/completions
// does with it, for clients that can only chat.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/agent/dialect.h"
#include "base/agent_role.h"
#include "model/tokenizer/chatml.h"

namespace kw {

// Whose adapter answers.
enum class Speaker : std::uint8_t { base, generator, optimizer };
std::string_view to_string(Speaker speaker);        // "base"
std::optional<AgentRole> role_of(Speaker speaker);  // none: the base, which has no role

inline constexpr std::size_t max_chat_bytes = std::size_t{1} << 20;  // of all messages together

// Roles are system (or developer), user and assistant. `base_system`: the base's own system message.
Result<std::vector<TokenId>> chat_prompt(Encoder& encoder, const Dialect& dialect,
                                         const std::vector<ChatMessage>& messages, Speaker speaker,
                                         const std::string& base_system = {});

}  // namespace kw
