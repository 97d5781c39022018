#include "model/decoder/model_files.h"

#include <gtest/gtest.h>

#include "model/decoder/nf4_base.h"
#include "model/decoder/trainer_case.h"
#include "model/tokenizer/bpe_training.h"
#include "model/weights/float_formats.h"
#include "model/weights/hostile_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// A llama whose matrices are Q8_0 blocks of random bytes.
std::string quantised_gguf(const ModelDescription& model, std::uint64_t seed) {
  const auto h = static_cast<std::uint64_t>(model.hidden), m = static_cast<std::uint64_t>(model.intermediate);
  const auto q = static_cast<std::uint64_t>(model.heads * model.head_dim);
  const auto k = static_cast<std::uint64_t>(model.kv_heads * model.head_dim);
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> tensors{
      {"token_embd.weight", {h, static_cast<std::uint64_t>(model.vocabulary)}}, {"output_norm.weight", {h}}};
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    for (const auto& [name, sizes] :
         std::vector<std::pair<std::string, std::vector<std::uint64_t>>>{{"attn_norm", {h}},
                                                                         {"ffn_norm", {h}},
                                                                         {"attn_q", {h, q}},
                                                                         {"attn_k", {h, k}},
                                                                         {"attn_v", {h, k}},
                                                                         {"attn_output", {q, h}},
                                                                         {"ffn_gate", {h, m}},
                                                                         {"ffn_up", {h, m}},
                                                                         {"ffn_down", {m, h}}}) {
      tensors.push_back({prefix + name + ".weight", sizes});
    }
  }
  GgufBytes bytes(tensors.size(), 10);
  const auto number = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  bytes.text("general.architecture", "llama").u32("llama.block_count", number(model.layers));
  bytes.u32("llama.embedding_length", number(model.hidden)).u32("llama.attention.head_count", number(model.heads));
  bytes.u32("llama.attention.head_count_kv", number(model.kv_heads));
  bytes.u32("llama.feed_forward_length", number(model.intermediate));
  bytes.u32("llama.context_length", number(model.context)).key("llama.rope.freq_base", 6).number(10000.0f);
  bytes.key("llama.attention.layer_norm_rms_epsilon", 6).number(1e-6f);
  bytes.key("tokenizer.ggml.tokens", 9).number<std::uint32_t>(8);
  bytes.number(static_cast<std::uint64_t>(model.vocabulary));
  for (std::int64_t i = 0; i < model.vocabulary; ++i) bytes.string("t" + std::to_string(i));
  const auto byte_count = [](const std::vector<std::uint64_t>& sizes) {
    return sizes.size() == 1 ? sizes[0] * 4 : sizes[0] * sizes[1] / 32 * 34;
  };
  std::uint64_t offset = 0;
  for (const auto& [name, sizes] : tensors) {
    bytes.string(name).number(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) bytes.number(size);
    bytes.number<std::uint32_t>(sizes.size() == 1 ? 0 : 8).number(offset);  // F32, Q8_0
    offset += (byte_count(sizes) + 31) / 32 * 32;
  }
  bytes.data(0);
  Random random(seed);
  for (const auto& [name, sizes] : tensors) {
    if (sizes.size() == 1) {
      for (std::uint64_t i = 0; i < sizes[0]; ++i) bytes.number(static_cast<float>(random.uniform(0.8, 1.2)));
    } else {
      for (std::uint64_t block = 0; block < sizes[0] * sizes[1] / 32; ++block) {
        bytes.number(f16_of_float(static_cast<float>(random.uniform(0.001, 0.004))));
        for (int i = 0; i < 32; ++i) bytes.number(static_cast<std::int8_t>(random.integer(-127, 127)));
      }
    }
    bytes.data(0);
  }
  return bytes.bytes();
}

ModelDescription block_description() {
  ModelDescription model = small_description();
  model.architecture = Architecture::llama;
  model.attention_bias = false;
  model.hidden = 64;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = 16;
  model.intermediate = 96;
  return model;
}

class ModelFilesTest : public testing::Test {
 protected:
  fs::path gguf() {
    const fs::path path = folder_.path() / "model.gguf";
    KW_CHECK(write_file_atomic(path, quantised_gguf(block_description(), 3)).ok());
    return path;
  }
  ThreadTeam team_{2};
  TemporaryFolder folder_;
};

TEST_F(ModelFilesTest, GgufBlocksAreNotQuantisedOnceMore) {
  ThreadTeam team(1);
  const auto base = load_nf4_base(team, ModelFiles::open(gguf()).value());
  ASSERT_FALSE(base.ok());
  EXPECT_NE(to_string(base.error()).find("rounded a second time"), std::string::npos) << to_string(base.error());
}

TEST_F(ModelFilesTest, GgufBlocksAreTheFloats) {
  const auto files = ModelFiles::open(gguf());
  ASSERT_TRUE(files.ok()) << to_string(files.error());
  std::int64_t last = 0, all = 0;
  Parameters parameters = load_parameters(*files, [&](std::int64_t done, std::int64_t total) {
                            EXPECT_GT(done, last);
                            last = done;
                            all = total;
                          }).value();
  EXPECT_EQ(last, all);
  EXPECT_EQ(all, parameters.layout.size * 4);
  for (const auto& place : parameters.layout.places) {
    const auto blocks = files->blocks(place.tensor.name);
    ASSERT_EQ(blocks.has_value(), place.tensor.shape.size() == 2) << place.tensor.name;
    if (!blocks) continue;
    EXPECT_EQ(blocks->format, BlockFormat::q8_0);
    const std::int64_t rows = place.tensor.shape[0], columns = place.tensor.shape[1];
    const bool turned = place.tensor.name.ends_with("q_proj.weight") || place.tensor.name.ends_with("k_proj.weight");
    ASSERT_EQ(blocks->row_order.empty(), !turned) << place.tensor.name;
    std::vector<float> row(static_cast<std::size_t>(columns));
    const std::size_t row_bytes = blocks->bytes.size() / static_cast<std::size_t>(rows);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto source = static_cast<std::size_t>(turned ? blocks->row_order[static_cast<std::size_t>(i)] : i);
      dequantise_blocks(blocks->format, blocks->bytes.subspan(source * row_bytes, row_bytes), row);
      const auto wanted = parameters.at(place.offset + i * columns, columns);
      ASSERT_TRUE(std::ranges::equal(row, wanted)) << place.tensor.name << " " << i;
    }
  }
  EXPECT_FALSE(files->blocks("nothing").has_value());
}

// Training adapters on blocks computes what training them on the floats does, to the last bit.
TEST_F(ModelFilesTest, FrozenBlocksTrainLikeFloats) {
  const ModelFiles files = ModelFiles::open(gguf()).value();
  const ModelDescription& model = files.description();
  const std::vector<Adapter> adapters{lively_adapter(model, "a", 4, all_projections, 2)};
  const TrainingOptions options{.train_base = false, .value_head = true, .logits_chunk = 9, .kept_logits_bytes = 4000};
  auto blocks = make_cpu_trainer(team_, files, adapters, options, {}, 5).value();
  auto floats = trainer_of(team_, load_parameters(files).value(), adapters, options);
  PackedBatch batch = random_batch(model, {21, 14, 6}, 1);
  batch.adapter = {0, -1, 0};
  for (int step = 0; step < 3; ++step) {
    const TokenScores scores = blocks->forward(batch).value();
    ASSERT_TRUE(same_bits(scores.log_prob, floats->forward(batch).value().log_prob)) << step;
    const ScoreGradients gradients = random_gradients(scores.log_prob.size(), true, true, 2);
    ASSERT_TRUE(blocks->backward(gradients).ok());
    ASSERT_TRUE(floats->backward(gradients).ok());
    ASSERT_TRUE(blocks->step(1e-2).ok());
    ASSERT_TRUE(floats->step(1e-2).ok());
  }
  EXPECT_TRUE(same_bits(blocks->read_adapter(0).value().values, floats->read_adapter(0).value().values));
  EXPECT_FALSE(same_bits(blocks->read_adapter(0).value().values, adapters[0].values));
  Parameters left(model), right(model);
  ASSERT_TRUE(blocks->read_parameters(left).ok());
  ASSERT_TRUE(floats->read_parameters(right).ok());
  EXPECT_TRUE(same_bits(left.values, right.values));
  EXPECT_FALSE(make_cpu_trainer(team_, files, adapters, {}, {}).ok());  // the base cannot be trained
}

TEST_F(ModelFilesTest, SavedModelIsReadBack) {
  ModelDescription model = small_description();
  const std::vector<std::string_view> texts{"float x = a[i] + b[i]; float y = a[i] * b[i];"};
  const Tokenizer tokenizer =
      Tokenizer::make(train_bpe(texts, {.vocabulary = 270, .special = {"<|end|>"}}).value()).value();
  model.vocabulary = static_cast<std::int64_t>(tokenizer.size());
  model.eos_ids = {0};
  const Parameters parameters = lively_parameters(team_, model, 4);
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16}) {
    for (const std::int64_t shard_bytes : {0, 20'000}) {
      const fs::path folder = folder_.path() / ("saved-" + std::to_string(static_cast<int>(type)));
      // The second time the folder is there already.
      const auto saved = save_model(folder, parameters, &tokenizer, type, shard_bytes);
      ASSERT_TRUE(saved.ok()) << to_string(saved.error());
      const auto files = ModelFiles::open(folder);
      ASSERT_TRUE(files.ok()) << to_string(files.error());
      ModelDescription wanted = model;
      wanted.stored_type = type;
      EXPECT_EQ(files->description(), wanted);
      const Parameters again = load_parameters(*files).value();
      for (std::size_t i = 0; i < again.values.size(); ++i) {
        const float value = parameters.values[i];
        const float rounded = type == ElementType::f32    ? value
                              : type == ElementType::bf16 ? float_of_bf16(bf16_of_float(value))
                                                          : float_of_f16(f16_of_float(value));
        ASSERT_EQ(again.values[i], rounded) << i;
      }
      const auto read_tokenizer = files->tokenizer();
      ASSERT_TRUE(read_tokenizer.ok()) << to_string(read_tokenizer.error());
      EXPECT_EQ(read_tokenizer->encode("float z = a[i];").value(), tokenizer.encode("float z = a[i];").value());
      EXPECT_TRUE(fs::exists(folder / "tokenizer_config.json"));
    }
  }
  // Nothing unfinished is left behind.
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    EXPECT_EQ(entry.path().string().find(".new."), std::string::npos);
  }
  EXPECT_FALSE(save_model(folder_.path() / "x", parameters, nullptr, ElementType::i64).ok());
  EXPECT_FALSE(save_model("/proc/x", parameters, nullptr).ok());
}

TEST_F(ModelFilesTest, WhatIsNoModelIsRefused) {
  EXPECT_FALSE(ModelFiles::open(folder_.path() / "none").ok());
  EXPECT_FALSE(ModelFiles::open(folder_.path()).ok());
  ASSERT_TRUE(write_file_atomic(folder_.path() / "text.gguf", "not a model").ok());
  EXPECT_FALSE(ModelFiles::open(folder_.path() / "text.gguf").ok());
}

}  // namespace
}  // namespace kw
