#include "model/weights/huggingface_config.h"

#include <gtest/gtest.h>

#include "base/bounded_json.h"
#include "base/file.h"

namespace kw {
namespace {

const std::filesystem::path golden = std::filesystem::path(KW_SOURCE_ROOT) / "tests" / "weights";

// config.json of Qwen2.5-Coder-0.5B-Instruct, the fields that matter.
const std::string qwen = R"({"architectures": ["Qwen2ForCausalLM"], "hidden_act": "silu", "hidden_size": 896,
  "intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 21, "model_type": "qwen2",
  "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
  "rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
  "use_sliding_window": false, "vocab_size": 151936, "bos_token_id": 151643, "eos_token_id": 151645})";

const std::string llama = R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
  "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 100})";

std::string with(const std::string& config, const std::string& members) {
  return config.substr(0, config.size() - 1) + ", " + members + "}";
}

TEST(HuggingFaceConfig, QwenAndItsNumberOfParameters) {
  const auto description = parse_huggingface_config(qwen, R"({"eos_token_id": [151645, 151643]})");
  ASSERT_TRUE(description.ok()) << to_string(description.error());
  EXPECT_EQ(description->head_dim, 64);
  EXPECT_TRUE(description->attention_bias);
  EXPECT_EQ(description->stored_type, ElementType::bf16);
  EXPECT_EQ(description->eos_ids, (std::vector<std::int64_t>{151645, 151643}));
  EXPECT_EQ(parameter_count(*description), 494'032'768);
}

TEST(HuggingFaceConfig, DefaultsOfLlama) {
  const auto description = parse_huggingface_config(llama);
  ASSERT_TRUE(description.ok()) << to_string(description.error());
  EXPECT_EQ(description->kv_heads, 4);
  EXPECT_EQ(description->head_dim, 16);
  EXPECT_EQ(description->context, 2048);
  EXPECT_EQ(description->rope_base, 10000);
  EXPECT_EQ(description->rms_epsilon, 1e-6);
  EXPECT_FALSE(description->tied_embeddings);
  EXPECT_FALSE(description->attention_bias);
  EXPECT_TRUE(description->eos_ids.empty());
  EXPECT_EQ(parse_huggingface_config(with(llama, R"("head_dim": 32)"))->head_dim, 32);
  EXPECT_EQ(parse_huggingface_config(with(llama, R"("rope_parameters": {"rope_theta": 5.0, "rope_type": "default"})"))
                ->rope_base,
            5);
  EXPECT_TRUE(parse_huggingface_config(with(llama, R"("rope_scaling": null, "head_dim": null)")).ok());
}

TEST(HuggingFaceConfig, WhatWeDoNotComputeIsRefusedByName) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("rope_scaling": {"rope_type": "llama3", "factor": 8.0})", "llama3"},
      {R"("rope_scaling": {"type": "yarn"})", "yarn"},
      {R"("rope_parameters": {"rope_type": "linear"})", "linear"},
      {R"("hidden_act": "gelu")", "gelu"},
      {R"("mlp_bias": true)", "mlp_bias"},
      {R"("use_sliding_window": true)", "use_sliding_window"},
      {R"("layer_types": ["full_attention", "sliding_attention"])", "layer_types"},
      {R"("quantization_config": {"bits": 4})", "quantization_config"},
      {R"("torch_dtype": "posit16")", "posit16"},
      {R"("num_key_value_heads": 3)", "key-value heads"},
      {R"("head_dim": 15)", "odd"},
      {R"("head_dim": -2)", "head_dim"},
      {R"("rope_theta": "x")", "rope_theta"},
      {R"("rope_theta": -1)", "rope base"},
      {R"("eos_token_id": 100)", "vocabulary"},
      {R"("eos_token_id": [-1])", "eos_token_id"},
      {R"("max_position_embeddings": 1e9)", "max_position_embeddings"},
      {R"("model_type": "llama", "model_type": "qwen2")", "twice"},
  };
  for (const auto& [member, expected] : cases) {
    const auto description = parse_huggingface_config(with(llama, member));
    ASSERT_FALSE(description.ok()) << member;
    EXPECT_NE(description.error().message.find(expected), std::string::npos) << description.error().message;
  }
  EXPECT_FALSE(parse_huggingface_config(R"({"architectures": ["MistralForCausalLM"]})").ok());
  EXPECT_FALSE(parse_huggingface_config("{}").ok());
}

TEST(HuggingFaceConfig, WrittenAndReadAgain) {
  ModelDescription description = *parse_huggingface_config(qwen);
  EXPECT_EQ(*parse_huggingface_config(to_huggingface_config(description)), description);
  description = *parse_huggingface_config(llama);
  description.attention_bias = true;
  description.eos_ids = {3, 4};
  TemporaryFolder folder;
  ASSERT_TRUE(write_huggingface_config(folder.path(), description).ok());
  EXPECT_EQ(*read_huggingface_config(folder.path()), description);
}

TEST(HuggingFaceConfig, AFolderThatTransformersWrote) {
  const auto model = open_huggingface_model(golden / "tiny_llama");
  ASSERT_TRUE(model.ok()) << to_string(model.error());
  EXPECT_EQ(model->description.rope_base, 50000);
  EXPECT_EQ(model->description.stored_type, ElementType::bf16);
  EXPECT_EQ(model->weights.shard_count(), 2u);
  EXPECT_EQ(static_cast<std::int64_t>(model->weights.bytes()), 2 * parameter_count(model->description));
}

TEST(ModelDescription, TensorsMustBeExactlyThose) {
  const ModelDescription description = *parse_huggingface_config(llama);
  const std::vector<NamedShape> expected = expected_tensors(description);
  EXPECT_EQ(expected.size(), 2u * 9 + 3);
  EXPECT_TRUE(check_tensors(description, expected).ok());
  const auto message = [&](std::vector<NamedShape> found) {
    return check_tensors(description, std::move(found)).error().message;
  };
  auto changed = expected;
  changed.erase(changed.begin() + 3);
  EXPECT_NE(message(changed).find("'" + expected[3].name + "' is missing"), std::string::npos);
  changed = expected;
  changed.push_back({"lm_head.bias", {100}});
  EXPECT_NE(message(changed).find("'lm_head.bias' is not expected"), std::string::npos);
  changed = expected;
  changed.push_back(expected[0]);
  EXPECT_NE(message(changed).find("not expected"), std::string::npos);
  changed = expected;
  changed[0].shape = {64, 100};
  EXPECT_NE(message(changed).find("[64, 100] instead of [100, 64]"), std::string::npos);
}

}  // namespace
}  // namespace kw
