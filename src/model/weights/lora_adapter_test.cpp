#include "model/weights/lora_adapter.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "model/weights/safetensors.h"
#include "model/weights/safetensors_writer.h"

namespace kw {
namespace {

const std::filesystem::path golden = std::filesystem::path(KW_SOURCE_ROOT) / "tests" / "weights";

LoraAdapter small_adapter() {
  LoraAdapter adapter;
  adapter.rank = 2;
  adapter.alpha = 16;
  adapter.target_modules = std::vector<std::string>{"k_proj", "q_proj"};
  adapter.modules["model.layers.0.self_attn.q_proj"] = {3, 2, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4}};
  adapter.modules["model.layers.0.self_attn.k_proj"] = {3, 1, {1, 2, 3, 4, 5, 6}, {7, 8}};
  return adapter;
}

TEST(LoraAdapter, ReadsWhatPeftWrote) {
  const auto adapter = read_lora_adapter(golden / "tiny_adapter");
  ASSERT_TRUE(adapter.ok()) << to_string(adapter.error());
  EXPECT_EQ(adapter->rank, 4);
  EXPECT_EQ(lora_scale(*adapter), 2);
  EXPECT_EQ(adapter->modules.size(), 4u);
  const LoraMatrices& v = adapter->modules.at("model.layers.1.self_attn.v_proj");
  EXPECT_EQ(v.in, 16);
  EXPECT_EQ(v.out, 8);
  TemporaryFolder folder;
  ASSERT_TRUE(write_lora_adapter(folder.path(), *adapter).ok());
  EXPECT_EQ(*read_lora_adapter(folder.path()), *adapter);
  const auto ours = SafetensorsFile::open(folder.path() / "adapter_model.safetensors");
  const auto theirs = SafetensorsFile::open(golden / "tiny_adapter" / "adapter_model.safetensors");
  ASSERT_TRUE(ours.ok() && theirs.ok());
  for (const TensorView& tensor : theirs->tensors()) EXPECT_NE(ours->find(tensor.name), nullptr) << tensor.name;
}

TEST(LoraAdapter, WrittenAndReadAgain) {
  LoraAdapter adapter = small_adapter();
  adapter.rank_stabilised = true;
  adapter.base_model = "some/model";
  TemporaryFolder folder;
  ASSERT_TRUE(write_lora_adapter(folder.path(), adapter, ElementType::bf16).ok());
  EXPECT_EQ(*read_lora_adapter(folder.path()), adapter);
  EXPECT_NEAR(lora_scale(adapter), 11.3137085, 1e-6);
  adapter.target_modules = std::string(R"(.*\.(q|k)_proj)");
  ASSERT_TRUE(write_lora_adapter(folder.path(), adapter).ok());
  EXPECT_EQ(*read_lora_adapter(folder.path()), adapter);
}

TEST(LoraAdapter, FieldsThatChangeTheComputationAreRefusedByName) {
  EXPECT_TRUE(parse_lora_config(R"({"r": 4})").ok());
  EXPECT_TRUE(parse_lora_config(R"({"r": 4, "some_future_field": null, "other": {}, "another": false})").ok());
  for (const char* member : {R"("use_dora": true)", R"("modules_to_save": ["lm_head"])", R"("rank_pattern": {"q": 4})",
                             R"("alpha_pattern": {"q": 4})", R"("layers_to_transform": [1])", R"("bias": "all")",
                             R"("peft_type": "IA3")", R"("lora_bias": true)", R"("init_lora_weights": "pissa")",
                             R"("layer_replication": [[0, 1]])", R"("some_future_field": 1)"}) {
    const auto config = parse_lora_config(std::string(R"({"r": 4, )") + member + "}");
    ASSERT_FALSE(config.ok()) << member;
    const std::string field = std::string(member).substr(1, std::string(member).find('"', 1) - 1);
    EXPECT_NE(config.error().message.find(field), std::string::npos) << config.error().message;
  }
  for (const char* text : {"", "[]", R"({"r": 0})", R"({"r": -1})", R"({"r": 1e9})", R"({"lora_alpha": "x"})",
                           R"({"target_modules": 1})", R"({"target_modules": [1]})", R"({"lora_dropout": 2})"}) {
    EXPECT_FALSE(parse_lora_config(text).ok()) << text;
  }
}

TEST(LoraAdapter, TensorsThatDoNotFitAreRefused) {
  const std::vector<float> values(12, 1.0f);
  const auto refused = [&](const std::string& name, const Shape& shape) {
    TemporaryFolder folder;
    EXPECT_TRUE(write_lora_adapter(folder.path(), small_adapter()).ok());
    const auto count = static_cast<std::size_t>(element_count(shape).value());
    EXPECT_TRUE(write_safetensors(folder.path() / "adapter_model.safetensors",
                                  {outgoing_floats(name, shape, std::span(values).first(count), ElementType::f32)})
                    .ok());
    return !read_lora_adapter(folder.path()).ok();
  };
  EXPECT_TRUE(refused("base_model.model.a.q_proj.lora_A.weight", {2, 3}));  // no B
  EXPECT_TRUE(refused("base_model.model.a.q_proj.lora_A.weight", {3, 2}));  // another rank
  EXPECT_TRUE(refused("base_model.model.a.q_proj.lora_A.weight", {2}));
  EXPECT_TRUE(refused("base_model.model.a.o_proj.lora_A.weight", {2, 3}));  // no target
  EXPECT_TRUE(refused("base_model.model.a.xq_proj.lora_A.weight", {2, 3}));
  EXPECT_TRUE(refused("base_model.model.a.lora_embedding_A", {2, 3}));
  EXPECT_TRUE(refused("q_proj.lora_A.weight", {2, 3}));
  EXPECT_TRUE(refused("base_model.model.lora_A.weight", {2, 3}));
}

}  // namespace
}  // namespace kw
