// Texts, stop strings and streaming, with a real tokenizer.

#include <gtest/gtest.h>

#include "model/rollout/hash_decoder.h"
#include "model/rollout/rollout.h"
#include "model/tokenizer/tokenizer_json.h"

namespace kw {
namespace {

class RolloutText : public testing::Test {
 protected:
  RolloutText()
      : tokenizer_(*load_tokenizer_json(std::filesystem::path(KW_SOURCE_ROOT) / "tests/tokenizer/trained.json")),
        decoder_({.vocabulary = static_cast<std::int32_t>(tokenizer_.size()) + 20}),
        rollout_(decoder_, &tokenizer_) {}

  GeneratedSample generate(const GenerationRequest& request) {
    auto results = rollout_.generate({request});
    EXPECT_TRUE(results.ok());
    return (*results)[0].samples[0];
  }

  // Tokens without special ones and without those that the tokenizer does not know.
  std::string text_of(std::span<const std::int32_t> tokens) const {
    std::string text;
    for (const std::int32_t token : tokens) {
      if (static_cast<std::size_t>(token) < tokenizer_.size() && !tokenizer_.is_special(token)) {
        text += tokenizer_.bytes_of(token);
      }
    }
    return text;
  }

  Tokenizer tokenizer_;
  HashDecoder decoder_;
  Rollout rollout_;
};

TEST_F(RolloutText, IsThatOfTheTokens) {
  GenerationRequest request;
  request.prompt = {5, 6, 7};
  request.max_tokens = 80;
  const GeneratedSample sample = generate(request);
  EXPECT_EQ(sample.finish, FinishReason::length);
  EXPECT_EQ(sample.text, text_of(sample.tokens));
  EXPECT_GT(sample.text.size(), 80u);
}

TEST_F(RolloutText, StopsAtAStringWhereverTokensEnd) {
  Random random(8);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    GenerationRequest request;
    request.prompt = {5, 6, 7};
    request.max_tokens = 40;
    request.rule.seed = seed;
    const GeneratedSample whole = generate(request);
    const auto length = static_cast<std::size_t>(random.integer(1, 12));
    ASSERT_GT(whole.text.size(), length);
    const auto start =
        static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(whole.text.size() - length)));
    request.stop_strings = {whole.text.substr(start, length), "a text that does not come"};
    std::string shown;
    bool ended = false;
    request.on_token = [&](const TokenEvent& event) {
      EXPECT_FALSE(ended);
      shown += event.text;
      ended = event.finished;
    };
    const GeneratedSample stopped = generate(request);
    EXPECT_TRUE(ended);
    EXPECT_EQ(stopped.finish, FinishReason::stop_string);
    const std::size_t found = whole.text.find(request.stop_strings[0]);
    EXPECT_EQ(stopped.text, whole.text.substr(0, found));
    EXPECT_EQ(shown, stopped.text);
    // Tokens as sampled, up to the first with which the string is complete.
    ASSERT_LE(stopped.tokens.size(), whole.tokens.size());
    EXPECT_TRUE(std::equal(stopped.tokens.begin(), stopped.tokens.end(), whole.tokens.begin()));
    EXPECT_TRUE(std::equal(stopped.log_probs.begin(), stopped.log_probs.end(), whole.log_probs.begin()));
    EXPECT_EQ(stopped.tokens.size(), stopped.log_probs.size());
    const std::span<const std::int32_t> tokens = stopped.tokens;
    EXPECT_NE(text_of(tokens).find(request.stop_strings[0]), std::string::npos);
    EXPECT_EQ(text_of(tokens.first(tokens.size() - 1)).find(request.stop_strings[0]), std::string::npos);
  }
}

TEST_F(RolloutText, StopTokensAreInTheTokensButNotInTheText) {
  GenerationRequest request;
  request.prompt = {9, 9};
  request.max_tokens = 30;
  const GeneratedSample whole = generate(request);
  request.stop_tokens = {whole.tokens[12]};
  const GeneratedSample stopped = generate(request);
  EXPECT_EQ(stopped.finish, FinishReason::stop_token);
  const auto first = std::find(whole.tokens.begin(), whole.tokens.end(), whole.tokens[12]);
  EXPECT_EQ(stopped.tokens, std::vector<std::int32_t>(whole.tokens.begin(), first + 1));
  EXPECT_EQ(stopped.text, text_of(std::span(stopped.tokens).first(stopped.tokens.size() - 1)));
}

TEST_F(RolloutText, RefusesEmptyStopStrings) {
  GenerationRequest request;
  request.prompt = {9, 9};
  request.stop_strings = {""};
  EXPECT_FALSE(rollout_.submit(request).ok());
}

}  // namespace
}  // namespace kw
