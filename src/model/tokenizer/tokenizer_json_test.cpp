#include "model/tokenizer/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

namespace kw {
namespace {

using Json = nlohmann::json;

// ids: a 0, b 1, ab 2, U+0120 (a space) 3, then <x> as an added token.
Json small() {
  return Json::parse(R"({"added_tokens": [{"id": 4, "content": "<x>", "special": true}],
    "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3}, "merges": ["a b"]}})");
}

std::string message_after(const std::function<void(Json&)>& change) {
  Json file = small();
  change(file);
  auto spec = parse_tokenizer_json(file.dump());
  if (!spec.ok()) return spec.error().message;
  const auto tokenizer = Tokenizer::make(std::move(*spec));
  return tokenizer.ok() ? "" : tokenizer.error().message;
}

TEST(TokenizerJson, Reads) {
  auto spec = parse_tokenizer_json(small().dump());
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  const auto tokenizer = Tokenizer::make(std::move(*spec));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_THAT(*tokenizer->encode("ab a<x>", SpecialTokens::recognised), testing::ElementsAre(2, 3, 0, 4));
  EXPECT_EQ(message_after([](Json& f) { f["model"]["merges"] = Json::array({Json::array({"a", "b"})}); }), "");
}

TEST(TokenizerJson, WrittenAndReadAgain) {
  auto spec = parse_tokenizer_json(small().dump());
  spec->nfc = true;
  spec->ignore_merges = true;
  spec->pre_tokenizer = pattern_steps(qwen2_pattern);
  spec->pre_tokenizer.insert(spec->pre_tokenizer.begin(), smollm_steps().front());
  const auto again = parse_tokenizer_json(to_tokenizer_json(*spec));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->tokens, spec->tokens);
  EXPECT_EQ(again->merges, spec->merges);
  EXPECT_EQ(again->added, spec->added);
  EXPECT_EQ(again->pre_tokenizer, spec->pre_tokenizer);
  EXPECT_TRUE(again->nfc && again->ignore_merges);
}

TEST(TokenizerJson, RefusesByName) {
  const auto says = [](const char* what, const std::function<void(Json&)>& change) {
    EXPECT_THAT(message_after(change), testing::HasSubstr(what));
  };
  says("normalizer NFKC", [](Json& f) { f["normalizer"] = {{"type", "NFKC"}}; });
  says("pre-tokenizer Metaspace", [](Json& f) { f["pre_tokenizer"] = {{"type", "Metaspace"}}; });
  says("no pre_tokenizer", [](Json& f) { f["pre_tokenizer"] = nullptr; });
  says("decoder", [](Json& f) { f["decoder"] = {{"type", "WordPiece"}}; });
  says("post-processor", [](Json& f) { f["post_processor"] = {{"type", "BertProcessing"}}; });
  says("model Unigram", [](Json& f) { f["model"]["type"] = "Unigram"; });
  says("dropout", [](Json& f) { f["model"]["dropout"] = 0.1; });
  says("byte_fallback", [](Json& f) { f["model"]["byte_fallback"] = true; });
  says("end_of_word_suffix", [](Json& f) { f["model"]["end_of_word_suffix"] = "</w>"; });
  says("unk_token", [](Json& f) { f["model"]["unk_token"] = "a"; });
  says("single_word", [](Json& f) { f["added_tokens"][0]["single_word"] = true; });
}

TEST(TokenizerJson, HostileFiles) {
  const auto wrong = [](const std::function<void(Json&)>& change) { EXPECT_NE(message_after(change), ""); };
  wrong([](Json& f) { f["model"]["vocab"]["c"] = 2; });           // an id twice
  wrong([](Json& f) { f["model"]["vocab"]["c"] = 1000000000; });  // far out
  wrong([](Json& f) { f["model"]["vocab"]["c"] = 17; });          // a gap
  wrong([](Json& f) { f["model"]["vocab"]["c"] = -1; });
  wrong([](Json& f) { f["model"]["vocab"]["c"] = 1e300; });
  wrong([](Json& f) { f["model"]["vocab"] = Json::object(); });
  wrong([](Json& f) { f["model"]["vocab"][""] = 4; });
  wrong([](Json& f) { f["model"]["vocab"][std::string(max_token_bytes + 1, 'a')] = 4; });
  wrong([](Json& f) { f["model"]["merges"] = {"a c"}; });         // unknown token
  wrong([](Json& f) { f["model"]["merges"] = {"b a"}; });         // unknown result
  wrong([](Json& f) { f["model"]["merges"] = {"a b", "a b"}; });  // twice
  wrong([](Json& f) { f["model"]["merges"] = {"a  b"}; });
  wrong([](Json& f) { f["model"]["merges"] = {7}; });
  wrong([](Json& f) { f["model"]["merges"] = {" b"}; });   // an empty part would be a cycle
  wrong([](Json& f) { f["added_tokens"][0]["id"] = 1; });  // another token's
  wrong([](Json& f) { f["added_tokens"][0]["id"] = 5; });  // a gap
  wrong([](Json& f) { f["added_tokens"][0]["id"] = 1000000000; });
  wrong([](Json& f) { f["added_tokens"].push_back(f["added_tokens"][0]); });
  wrong([](Json& f) { f["added_tokens"][0]["content"] = ""; });
  wrong([](Json& f) { f["added_tokens"][0]["content"] = std::string(1000, 'x'); });
  wrong([](Json& f) { f["added_tokens"] = 3; });
  wrong([](Json& f) { f["model"] = Json::array(); });
  wrong([](Json& f) { f = Json::array(); });
}

TEST(TokenizerJson, HostileText) {
  const std::string whole = small().dump();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_tokenizer_json(whole.substr(0, size)).ok());
  EXPECT_FALSE(parse_tokenizer_json(std::string(1000000, '[')).ok());
  EXPECT_FALSE(parse_tokenizer_json(R"({"a":)" + std::string(1000000, '{')).ok());
  std::string nested;
  for (int i = 0; i < 100000; ++i) nested += R"({"a":)";
  EXPECT_FALSE(parse_tokenizer_json(nested).ok());
  EXPECT_FALSE(parse_tokenizer_json("\"" + std::string(10u << 20, 'x') + "\"").ok());
  std::string list = "[0";
  for (int i = 0; i < 5000000; ++i) list += ",0";
  EXPECT_THAT(parse_tokenizer_json(list + "]").error().message, testing::HasSubstr("more than 2000000 values"));
  EXPECT_FALSE(parse_tokenizer_json(std::string(max_tokenizer_json_bytes + 1, ' ')).ok());
  EXPECT_THAT(parse_tokenizer_json(R"({"model": {"vocab": {"a": 0, "a": 1}}})").error().message,
              testing::HasSubstr("twice"));
}

}  // namespace
}  // namespace kw
