#include "agents/agent/dialect.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/tokenizer/bpe_training.h"

namespace kw {
namespace {

std::string_view without_line_ends(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

// What the kernel uses and the one before did not: said before the kernel, so that the model has to decide first.
std::string strategy_line(std::string_view kernel, std::string_view given) {
  const std::vector<Strategy> before = strategies_of(given);
  std::vector<Strategy> added;
  for (const Strategy strategy : strategies_of(kernel))
    if (std::find(before.begin(), before.end(), strategy) == before.end()) added.push_back(strategy);
  return added.empty() ? "Strategy: the same means, put right." : fmt::format("Strategy: {}.", to_string(added));
}

// How text is cut before pairs are merged. A name stands alone, so that it is the same token wherever it is used and
// can be copied; a function is one piece with its bracket, in PyTorch's words (`torch.tanh(`) and in CUDA's (`tanhf(`),
// so that one is translated to the other token by token; idioms of CUDA may become one token, with the signs around
// them and the end of the line before them.
std::vector<PreTokenizerStep> compact_steps() {
  const std::string idiom =
      R"((?:const|unsigned|float|int|void|bool|__restrict__|__global__|__device__|__shared__|__forceinline__)"
      R"(|__launch_bounds__|inline|static|extern|"C"|launch|for|if|else|return|(?:blockIdx|blockDim|threadIdx|gridDim)\.[xyz])"
      R"(|cudaStream_t|stream|threads|blocks|__syncthreads|#pragma|unroll|__half2?|__nv_bfloat162?|float[24]|reinterpret_cast|sizeof|dim3)"
      R"(|nullptr|cudaMallocAsync|cudaFreeAsync|__shfl_\w+_sync|0xffffffffu?|#include|#define|constexpr|template|typename))"
      R"((?![A-Za-z_0-9])[^\nA-Za-z_0-9;]*)";
  return pattern_steps(
      "[;{}]*\\n[ \\n}]*(?:" + idiom + ")*|(?:" + idiom +
      ")+|(?:torch\\.|F\\.)?[A-Za-z_][A-Za-z_0-9]*\\(?|[0-9]+(?:\\.[0-9]*f?)?|;?[^\\nA-Za-z_0-9;]+(?:" + idiom +
      ")*|;");
}

}  // namespace

Result<Dialect> Dialect::make(Tokenizer tokenizer, PromptBook prompts) {
  Dialect dialect;
  const std::vector<std::string> keywords = compact_keywords();
  const bool compact = std::all_of(keywords.begin(), keywords.end(),
                                   [&](const std::string& word) { return tokenizer.find(word).has_value(); });
  dialect.style_ = compact ? PromptStyle::compact : PromptStyle::chatml;
  for (const char* end : {compact ? "<|end|>" : "<|im_end|>", "<|endoftext|>"})
    if (const auto id = tokenizer.find(end)) dialect.stop_tokens_.push_back(*id);
  if (!compact && !(tokenizer.find("<|im_start|>") && tokenizer.find("<|im_end|>")))
    return Error{"the vocabulary has neither the keywords of prompts/compact nor <|im_start|> and <|im_end|>",
                 "use a chat model (ChatML) or one that was trained with Kernelwright",
                 {}};
  dialect.tokenizer_ = std::make_shared<const Tokenizer>(std::move(tokenizer));
  dialect.masks_ = make_answer_masks(dialect.tokenizer_, dialect.stop_tokens_, !compact);
  dialect.prompts_ = std::move(prompts);
  return dialect;
}

Result<Dialect> Dialect::make(Tokenizer tokenizer) {
  KW_TRY(const std::filesystem::path folder, prompts_folder());
  KW_TRY(PromptBook prompts, PromptBook::load(folder));
  return make(std::move(tokenizer), std::move(prompts));
}

std::string answer_text(PromptStyle style, AgentRole role, std::string_view said, std::string_view given) {
  said = without_line_ends(said);
  if (style == PromptStyle::compact || role == AgentRole::tester) return std::string(said);
  const std::string fenced = fmt::format("```cuda\n{}\n```", said);
  return role == AgentRole::optimizer ? strategy_line(said, given) + "\n" + fenced : fenced;
}

Answer Dialect::read_answer(const std::string& text, bool ended, const AnswerLimits& limits) const {
  if (!ended) return parse_answer(text, limits);
  return parse_answer(text + (style_ == PromptStyle::compact ? "<|end|>" : "<|im_end|>"), limits);
}

Result<std::vector<TokenId>> Scribe::prompt_ids(const PromptRequest& request) {
  KW_TRY(const Prompt prompt, dialect_->prompts().write(dialect_->style(), request));
  if (dialect_->style() == PromptStyle::compact) return encoder_.encode(prompt.text, SpecialTokens::recognised);
  return chatml_ids(encoder_, dialect_->tokenizer(), prompt.messages);
}

Result<std::vector<TokenId>> Scribe::answer_ids(AgentRole role, std::string_view said, std::string_view given) {
  KW_TRY(std::vector<TokenId> ids, encoder_.encode(dialect_->answer_text(role, said, given)));
  ids.push_back(dialect_->stop_tokens().front());
  return ids;
}

Result<Tokenizer> train_compact_tokenizer(const std::vector<std::string_view>& texts, std::size_t vocabulary) {
  BpeTrainingOptions options;
  options.vocabulary = vocabulary;
  options.special = compact_keywords();
  options.pre_tokenizer = compact_steps();
  KW_TRY(TokenizerSpec spec, train_bpe(texts, options));
  return Tokenizer::make(std::move(spec));
}

}  // namespace kw
