#pragma once
// Test code: a decoder that says prepared answers. It keeps the tokens of each page, so it knows the prompt that an
// answer belongs to, and asks the script what the model would say to it. Whole conversations are tested with it, with
// the real judge on real kernels, without trained weights.

#include <functional>
#include <map>
#include <string>

#include "agents/agent/dialect.h"
#include "base/random.h"
#include "model/rollout/decoder.h"

namespace kw {

struct ScriptedQuestion {
  std::string prompt;  // with its control tokens
  std::int32_t adapter = -1;
  std::uint64_t seed = 0;
};

class ScriptedDecoder : public Decoder {
 public:
  using Script = std::function<std::string(const ScriptedQuestion&)>;

  ScriptedDecoder(const Dialect& dialect, Script script) : dialect_(dialect), script_(std::move(script)) {}

  std::int64_t page_tokens() const override { return 16; }
  std::int64_t page_count() const override { return 8192; }
  std::int64_t context() const override { return most_positions; }
  std::int64_t most_tokens() const override { return 512; }
  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(dialect_.tokenizer().size()); }
  std::int64_t weights_version() const override { return version; }
  Result<void> copy_page(std::int32_t from, std::int32_t to) override {
    pages_[to] = pages_[from];
    return {};
  }

  Result<std::vector<SampledToken>> step(std::span<const DecoderRow> rows) override {
    std::vector<SampledToken> sampled;
    for (const DecoderRow& row : rows) {
      for (std::size_t i = 0; i < row.tokens.size(); ++i) {
        const std::int64_t at = row.first_position + static_cast<std::int64_t>(i);
        page_of(row, at)[static_cast<std::size_t>(at % page_tokens())] = row.tokens[i];
      }
      sampled.push_back(row.sample ? say(row) : SampledToken{});
    }
    ++steps;
    most_rows = std::max(most_rows, rows.size());
    return sampled;
  }

  std::int64_t most_positions = 4096;
  std::int64_t version = 1;
  std::int64_t steps = 0;
  std::size_t most_rows = 0;

 private:
  std::vector<TokenId>& page_of(const DecoderRow& row, std::int64_t position) {
    auto& page = pages_[row.pages[static_cast<std::size_t>(position / page_tokens())]];
    page.resize(static_cast<std::size_t>(page_tokens()));
    return page;
  }

  SampledToken say(const DecoderRow& row) {
    const std::int64_t all = row.first_position + static_cast<std::int64_t>(row.tokens.size());
    std::vector<TokenId> prompt;
    for (std::int64_t at = 0; at < all - row.answer_index; ++at)
      prompt.push_back(page_of(row, at)[static_cast<std::size_t>(at % page_tokens())]);
    const auto key = std::tuple(prompt, row.adapter, row.rule.seed);
    auto said = said_.find(key);
    if (said == said_.end()) {
      const std::string text = script_({dialect_.tokenizer().decode(prompt).value(), row.adapter, row.rule.seed});
      auto ids = dialect_.tokenizer().encode(text).value();
      ids.push_back(dialect_.stop_tokens().front());
      said = said_.emplace(key, std::move(ids)).first;
    }
    SampledToken token;
    token.token = said->second.at(static_cast<std::size_t>(row.answer_index));
    token.log_prob = -static_cast<float>(Random(row.rule.seed, static_cast<std::uint64_t>(row.answer_index)).uniform());
    return token;
  }

  const Dialect& dialect_;
  Script script_;
  std::map<std::int32_t, std::vector<TokenId>> pages_;
  std::map<std::tuple<std::vector<TokenId>, std::int32_t, std::uint64_t>, std::vector<TokenId>> said_;
};

}  // namespace kw
