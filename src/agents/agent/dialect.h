#pragma once
// How a model is spoken to: prompts and answers as token ids, and answers back as kernels. Training and conversations
// go through the same functions, so a model is asked exactly as it was taught.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agents/agent/answer.h"
#include "agents/agent/answer_constraint.h"
#include "agents/agent/prompt.h"
#include "model/tokenizer/tokenizer.h"

namespace kw {

// The text that an agent should answer with. Optimizer: `given` is the kernel that it was shown. Tester: `said` is the
// verdict in its compact form (compact_verdict).
std::string answer_text(PromptStyle style, AgentRole role, std::string_view said, std::string_view given = {});

// Never changes after it is made; may be shared by threads.
class Dialect {
 public:
  // The style that the vocabulary was made for: compact where it has the keywords, ChatML where it has <|im_start|>.
  static Result<Dialect> make(Tokenizer tokenizer, PromptBook prompts);
  // With the prompts of prompts_folder().
  static Result<Dialect> make(Tokenizer tokenizer);

  PromptStyle style() const { return style_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const PromptBook& prompts() const { return prompts_; }
  // Tokens that end an answer; the first one is what answers are taught to end with.
  std::span<const TokenId> stop_tokens() const { return stop_tokens_; }
  // For answers with a kernel that are held to what is known of them.
  const std::shared_ptr<AnswerMasks>& masks() const { return masks_; }

  std::string answer_text(AgentRole role, std::string_view said, std::string_view given = {}) const {
    return kw::answer_text(style_, role, said, given);
  }

  // What a model said (without special tokens), read as a kernel. `ended`: it stopped by itself.
  Answer read_answer(const std::string& text, bool ended, const AnswerLimits& limits = {}) const;

 private:
  Dialect() = default;
  PromptStyle style_ = PromptStyle::compact;
  std::shared_ptr<const Tokenizer> tokenizer_;
  PromptBook prompts_;
  std::vector<TokenId> stop_tokens_;
  std::shared_ptr<AnswerMasks> masks_;
};

// Makes ids; one for each thread. The dialect must outlive it.
class Scribe {
 public:
  explicit Scribe(const Dialect& dialect) : dialect_(&dialect), encoder_(dialect.tokenizer()) {}

  Result<std::vector<TokenId>> prompt_ids(const PromptRequest& request);
  // answer_text() and the stop token.
  Result<std::vector<TokenId>> answer_ids(AgentRole role, std::string_view said, std::string_view given = {});

  const Dialect& dialect() const { return *dialect_; }

 private:
  const Dialect* dialect_;
  Encoder encoder_;
};

// A vocabulary for the compact style: the keywords first, then byte-level BPE over these texts.
Result<Tokenizer> train_compact_tokenizer(const std::vector<std::string_view>& texts, std::size_t vocabulary);

}  // namespace kw
