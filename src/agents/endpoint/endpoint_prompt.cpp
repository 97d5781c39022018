#include "agents/endpoint/endpoint_prompt.h"

#include "model/tokenizer/bpe_training.h"

namespace kw {
namespace {

constexpr std::size_t byte_count = 256;

Error no_chat() { return {"an endpoint is asked with messages: this prompt is no chat", "", {}}; }

}  // namespace

Result<Dialect> byte_dialect(PromptStyle style, PromptBook prompts) {
  BpeTrainingOptions options;
  options.special = style == PromptStyle::compact
                        ? compact_keywords()
                        : std::vector<std::string>{"<|im_start|>", "<|im_end|>", "<|endoftext|>"};
  options.vocabulary = options.special.size() + byte_count;
  KW_TRY(TokenizerSpec spec, train_bpe({}, options));
  KW_TRY(Tokenizer tokenizer, Tokenizer::make(std::move(spec)));
  return Dialect::make(std::move(tokenizer), std::move(prompts));
}

Result<std::vector<ChatMessage>> messages_of(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  const auto start = tokenizer.find("<|im_start|>"), end = tokenizer.find("<|im_end|>");
  if (!start || !end) return no_chat();
  std::vector<ChatMessage> messages;
  while (!ids.empty()) {
    if (ids.front() != *start) return no_chat();
    ids = ids.subspan(1);
    const auto stop = static_cast<std::size_t>(std::ranges::find(ids, *end) - ids.begin());
    KW_TRY(const std::string turn, tokenizer.decode(ids.first(stop)));
    if (stop == ids.size()) {
      if (turn != "assistant\n" || messages.empty()) return no_chat();
      return messages;
    }
    const std::size_t line = turn.find('\n');
    if (line == std::string::npos) return no_chat();
    messages.push_back({turn.substr(0, line), turn.substr(line + 1)});
    ids = ids.subspan(stop + 1);
    // The line end behind a turn.
    KW_TRY(const std::string behind, tokenizer.decode(ids.first(std::min<std::size_t>(ids.size(), 1))));
    if (behind != "\n") return no_chat();
    ids = ids.subspan(1);
  }
  return no_chat();
}

}  // namespace kw
