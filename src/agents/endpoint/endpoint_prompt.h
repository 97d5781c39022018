#pragma once
// Prompts for a model whose vocabulary is not known here. They are kept as bytes, with the control tokens of their
// style, so that everything that works on token ids (conversations, stores, pages) works on these, too; what is sent is
// made from them again: messages, or one text in the compact style.

#include <span>
#include <string>
#include <vector>

#include "agents/agent/dialect.h"

namespace kw {

// A dialect whose tokens are bytes.
Result<Dialect> byte_dialect(PromptStyle style, PromptBook prompts);

// The messages that chatml_ids() made these ids from, without the assistant's turn that they end with. An error: they
// are no chat.
Result<std::vector<ChatMessage>> messages_of(const Tokenizer& tokenizer, std::span<const TokenId> ids);

}  // namespace kw
