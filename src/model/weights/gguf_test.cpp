#include "model/weights/gguf.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "model/weights/gguf_model.h"
#include "model/weights/hostile_file.h"
#include "model/weights/safetensors.h"

namespace kw {
namespace {

const std::filesystem::path golden = std::filesystem::path(KW_SOURCE_ROOT) / "tests" / "weights";

template <class T>
const T& metadata(const GgufContent& content, std::string_view key) {
  return std::get<T>(*content.find(key));
}

TEST(Gguf, MetadataOfEveryType) {
  const auto file = GgufFile::open(golden / "blocks.gguf");
  ASSERT_TRUE(file.ok()) << to_string(file.error());
  const GgufContent& content = file->content();
  EXPECT_EQ(metadata<std::uint64_t>(content, "test.u8"), 200u);
  EXPECT_EQ(metadata<std::int64_t>(content, "test.i8"), -100);
  EXPECT_EQ(metadata<std::uint64_t>(content, "test.u16"), 60000u);
  EXPECT_EQ(metadata<std::int64_t>(content, "test.i16"), -30000);
  EXPECT_EQ(metadata<std::int64_t>(content, "test.i32"), -5);
  EXPECT_EQ(metadata<double>(content, "test.f32"), 1e-5f);
  EXPECT_EQ(metadata<std::uint64_t>(content, "test.u64"), 1ull << 63);
  EXPECT_EQ(metadata<std::int64_t>(content, "test.i64"), -(1ll << 40));
  EXPECT_EQ(metadata<double>(content, "test.f64"), 0.1);
  EXPECT_TRUE(metadata<bool>(content, "test.bool"));
  EXPECT_EQ(metadata<std::string_view>(content, "general.architecture"), "llama");
  EXPECT_EQ(metadata<std::vector<std::string_view>>(content, "test.strings"),
            (std::vector<std::string_view>{"one", "", "drei \xc3\xa4"}));
  EXPECT_EQ(metadata<std::vector<std::int64_t>>(content, "test.numbers"), (std::vector<std::int64_t>{1, -2, 3}));
  EXPECT_EQ(metadata<std::vector<double>>(content, "test.floats"), (std::vector<double>{0.5, 1.5}));
  EXPECT_EQ(content.find("nothing"), nullptr);
}

TEST(Gguf, BlocksEqualThePythonPackageBitForBit) {
  const auto file = GgufFile::open(golden / "blocks.gguf");
  const auto expected = SafetensorsFile::open(golden / "blocks_expected.safetensors");
  ASSERT_TRUE(file.ok() && expected.ok());
  ASSERT_EQ(file->content().tensors.size(), 8u);
  for (const GgufTensor& tensor : file->content().tensors) {
    const TensorView* truth = expected->find(tensor.name);
    ASSERT_NE(truth, nullptr) << tensor.name;
    ASSERT_EQ(tensor.shape, truth->shape) << tensor.name;
    std::vector<float> values(truth->bytes.size() / 4);
    dequantise_blocks(tensor.format, tensor.bytes, values);
    EXPECT_EQ(std::memcmp(values.data(), truth->bytes.data(), truth->bytes.size()), 0) << tensor.name;
  }
}

TEST(Gguf, NamesOfHuggingFace) {
  EXPECT_EQ(huggingface_tensor_name("token_embd.weight"), "model.embed_tokens.weight");
  EXPECT_EQ(huggingface_tensor_name("output.weight"), "lm_head.weight");
  EXPECT_EQ(huggingface_tensor_name("blk.12.attn_q.bias"), "model.layers.12.self_attn.q_proj.bias");
  for (const char* name :
       {"", "output", "blk.weight", "blk..attn_q.weight", "blk.01.attn_q.weight", "blk.-1.attn_q.weight",
        "blk.1.attn_q", "blk.1.attn_x.weight", "blk.9999999.attn_q.weight", "rope_freqs.weight"}) {
    EXPECT_FALSE(huggingface_tensor_name(name).has_value()) << name;
  }
}

// A llama of one layer: 2 heads of 4, 1 key-value head, whose q rows hold their own number.
class TinyGguf {
 public:
  explicit TinyGguf(const std::string& architecture, bool extra_tensor = false) {
    const std::string p = architecture + ".";
    const std::vector<std::pair<std::string, std::vector<std::uint64_t>>> tensors = [&] {
      std::vector<std::pair<std::string, std::vector<std::uint64_t>>> list{
          {"token_embd.weight", {8, 4}},    {"output_norm.weight", {8}},          {"blk.0.attn_norm.weight", {8}},
          {"blk.0.ffn_norm.weight", {8}},   {"blk.0.attn_q.weight", {8, 8}},      {"blk.0.attn_k.weight", {8, 4}},
          {"blk.0.attn_v.weight", {8, 4}},  {"blk.0.attn_output.weight", {8, 8}}, {"blk.0.ffn_gate.weight", {8, 16}},
          {"blk.0.ffn_up.weight", {8, 16}}, {"blk.0.ffn_down.weight", {16, 8}}};
      if (architecture == "qwen2") {
        list.push_back({"blk.0.attn_q.bias", {8}});
        list.push_back({"blk.0.attn_k.bias", {4}});
        list.push_back({"blk.0.attn_v.bias", {4}});
      }
      if (extra_tensor) list.push_back({"rope_freqs.weight", {8}});
      return list;
    }();
    GgufBytes bytes(tensors.size(), 11);
    bytes.text("general.architecture", architecture).u32(p + "block_count", 1).u32(p + "embedding_length", 8);
    bytes.u32(p + "attention.head_count", 2).u32(p + "attention.head_count_kv", 1).u32(p + "feed_forward_length", 16);
    bytes.u32(p + "context_length", 32).key(p + "rope.freq_base", 6).number(100000.0f);
    bytes.key(p + "attention.layer_norm_rms_epsilon", 6).number(1e-5f).u32("tokenizer.ggml.eos_token_id", 2);
    bytes.key("tokenizer.ggml.tokens", 9).number<std::uint32_t>(8).number<std::uint64_t>(4);
    for (const char* token : {"a", "b", "c", "d"}) bytes.string(token);
    std::uint64_t offset = 0;
    for (const auto& [name, sizes] : tensors) {
      bytes.string(name).number(static_cast<std::uint32_t>(sizes.size()));
      std::uint64_t count = 1;
      for (const std::uint64_t size : sizes) {
        bytes.number(size);
        count *= size;
      }
      bytes.number<std::uint32_t>(0).number(offset);
      offset += (count * 4 + 31) / 32 * 32;
    }
    bytes.data(0);
    for (const auto& [name, sizes] : tensors) {
      const std::uint64_t rows = sizes.size() == 2 ? sizes[1] : 1;
      for (std::uint64_t row = 0; row < rows; ++row) {
        for (std::uint64_t i = 0; i < sizes[0]; ++i) bytes.number(static_cast<float>(row));
      }
      bytes.data(0);
    }
    EXPECT_TRUE(write_file_atomic(path(), bytes.bytes()).ok());
  }
  std::filesystem::path path() const { return folder_.path() / "tiny.gguf"; }

 private:
  TemporaryFolder folder_;
};

TEST(GgufModel, LlamaRowsAreUnfoldedForRotateHalf) {
  TinyGguf tiny("llama");
  const auto model = GgufModel::open(tiny.path());
  ASSERT_TRUE(model.ok()) << to_string(model.error());
  const ModelDescription& description = model->description();
  EXPECT_EQ(description.head_dim, 4);
  EXPECT_EQ(description.vocabulary, 4);
  EXPECT_EQ(description.rms_epsilon, 1e-5);  // not 9.99999974e-6
  EXPECT_EQ(description.rope_base, 100000);
  EXPECT_TRUE(description.tied_embeddings);
  EXPECT_EQ(description.eos_ids, (std::vector<std::int64_t>{2}));
  std::vector<float> values(64);
  ASSERT_TRUE(model->read("model.layers.0.self_attn.q_proj.weight", values).ok());
  std::vector<float> rows;
  for (std::size_t row = 0; row < 8; ++row) rows.push_back(values[row * 8]);
  EXPECT_EQ(rows, (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
  ASSERT_TRUE(model->read("model.layers.0.self_attn.o_proj.weight", values).ok());
  EXPECT_EQ(values[8], 1);
  EXPECT_FALSE(model->read("model.layers.1.self_attn.o_proj.weight", values).ok());
  const auto vocabulary = vocabulary_of_gguf(model->content());
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->tokens, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(vocabulary->eos_id, 2);
}

TEST(GgufModel, QwenRowsStayAndUnknownTensorsAreNamed) {
  TinyGguf tiny("qwen2");
  const auto model = GgufModel::open(tiny.path());
  ASSERT_TRUE(model.ok()) << to_string(model.error());
  EXPECT_TRUE(model->description().attention_bias);
  std::vector<float> values(64);
  ASSERT_TRUE(model->read("model.layers.0.self_attn.q_proj.weight", values).ok());
  EXPECT_EQ(values[8], 1);
  TinyGguf extra("llama", true);
  const auto refused = GgufModel::open(extra.path());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("rope_freqs.weight"), std::string::npos);
}

}  // namespace
}  // namespace kw
