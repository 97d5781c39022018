#pragma once
// Test code: a decoder without a model that says what it is told to, whatever the schedule. A slot of a page holds the
// token at that position, so the prompt is known when the answer is wanted.

#include <functional>

#include "model/rollout/decoder.h"

namespace kw {

class ScriptedDecoder : public Decoder {
 public:
  using Tokens = std::vector<std::int32_t>;
  // The whole answer to a prompt, its end included.
  using Script = std::function<Tokens(const Tokens& prompt, const DecoderRow& row)>;

  explicit ScriptedDecoder(Script script) : script_(std::move(script)), slots_(pages * slots_a_page) {}

  std::int64_t page_tokens() const override { return slots_a_page; }
  std::int64_t page_count() const override { return pages; }
  std::int64_t context() const override { return 4096; }
  std::int64_t most_tokens() const override { return 512; }
  std::int64_t weights_version() const override { return 1; }

  Result<std::vector<SampledToken>> step(std::span<const DecoderRow> rows) override {
    std::vector<SampledToken> sampled;
    for (const DecoderRow& row : rows) {
      std::int64_t position = row.first_position;
      for (const std::int32_t token : row.tokens) slot(row, position++) = token;
      sampled.push_back(row.sample ? next(row, position) : SampledToken{});
    }
    return sampled;
  }

  Result<void> copy_page(std::int32_t from, std::int32_t to) override {
    std::copy_n(slots_.begin() + from * slots_a_page, slots_a_page, slots_.begin() + to * slots_a_page);
    return {};
  }

  float log_prob = -0.5f;  // of every token

 private:
  static constexpr std::int64_t pages = 4096, slots_a_page = 16;

  std::int32_t& slot(const DecoderRow& row, std::int64_t position) {
    const std::int64_t page = row.pages[static_cast<std::size_t>(position / slots_a_page)];
    return slots_[static_cast<std::size_t>(page * slots_a_page + position % slots_a_page)];
  }

  SampledToken next(const DecoderRow& row, std::int64_t length) {
    Tokens prompt;
    for (std::int64_t i = 0; i < length - row.answer_index; ++i) prompt.push_back(slot(row, i));
    const Tokens answer = script_(prompt, row);
    return {answer.at(static_cast<std::size_t>(row.answer_index)), log_prob};
  }

  Script script_;
  std::vector<std::int32_t> slots_;
};

}  // namespace kw
