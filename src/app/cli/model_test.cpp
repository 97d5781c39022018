// `kernelwright model` and `kernelwright bench` as a person or a script uses them.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "base/file.h"
#include "model/weights/safetensors.h"

namespace kw {
namespace {

using Json = nlohmann::json;

const std::string root = KW_SOURCE_ROOT;
const std::string qwen = root + "/tests/model/qwen2_f32";
const std::string sharded = root + "/tests/model/llama_bf16_sharded";

ChildOutcome run(std::vector<std::string> arguments, const std::string& input = "",
                 std::vector<std::string> environment = {}) {
  arguments.insert(arguments.begin(), KW_PROGRAM);
  auto outcome = run_child({arguments, input, "", std::move(environment)},
                           {.wall = std::chrono::hours(1), .cpu = {}, .memory_bytes = {}});
  EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
  return std::move(outcome).value();
}

std::vector<float> tensor(const std::string& path, const std::string& name) {
  const auto file = SafetensorsFile::open(path);
  EXPECT_TRUE(file.ok()) << path;
  const TensorView* found = file->find(name);
  EXPECT_NE(found, nullptr) << name;
  return read_floats(*found).value();
}

double relative_error(const std::vector<float>& ours, const std::vector<float>& theirs) {
  EXPECT_EQ(ours.size(), theirs.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    difference += std::pow(static_cast<double>(ours[i]) - theirs[i], 2);
    size += std::pow(static_cast<double>(theirs[i]), 2);
  }
  return std::sqrt(difference / size);
}

// A tiny model with a tokenizer, made once.
class ModelCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder();
    const auto made = run({"model", "init", "tiny-1m", "--tokenizer", root + "/tests/tokenizer/trained.json", "--seed",
                           "3", "--to", tiny()});
    ASSERT_EQ(made.exit_code, 0) << made.error_output;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string in_folder(const std::string& name) { return (folder_->path() / name).string(); }
  static std::string tiny() { return in_folder("tiny"); }

 private:
  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(ModelCommand, BadUsageIsRefusedWithAReason) {
  const std::string no_model = in_folder("nothing_here");
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{"model"},
        {"model", "info"},
        {"model", "info", no_model},
        {"model", "info", root},
        {"model", "info", root + "/README.md"},
        {"model", "fetch", "gpt-9"},
        {"model", "init", "no-such-preset", "--to", no_model},
        {"model", "init", "tiny-1m", "--to", tiny()},
        {"model", "init", "tiny-1m", "--to", no_model, "--tokenizer", root + "/README.md"},
        {"model", "init", "tiny-1m", "--to", no_model, "--vocabulary", "8", "--tokenizer",
         root + "/tests/tokenizer/trained.json"},
        {"model", "convert", qwen, qwen},
        {"model", "convert", qwen, root + "/src"},
        {"model", "convert", qwen, no_model, "--type", "f64"},
        {"model", "tokenize", qwen, "no tokenizer there"},
        {"model", "logits", qwen, "--tokens", "1,,2", "--out", no_model},
        {"model", "logits", qwen, "--tokens", "1,64", "--out", no_model},
        {"model", "logits", qwen, "--tokens", "1", "--out", no_model, "--adapter", sharded},
        {"model", "gradients", qwen, "--batch", qwen + "/model.safetensors", "--out", no_model},
        {"model", "gradients", qwen, "--batch", qwen + "/config.json", "--out", no_model},
        {"model", "chat", qwen, "--prompt", "no tokenizer there"},
        {"model", "chat", tiny(), "--json"},
        {"model", "generate", qwen, "--tokens", "x"},
        {"model", "plan"},
        {"model", "plan", no_model},
        {"model", "plan", "qwen2.5-coder-7b", "--method", "some"},
        {"model", "plan", "qwen2.5-coder-7b", "--gpu-memory", "0"},
        {"model", "plan", "qwen2.5-coder-7b", "--method", "full", "--moment-bits", "8"},
        {"bench"},
        {"bench", "train", "no-such-model"},
        {"bench", "rollout", "tiny-1m", "--batch", "0"}}) {
    const auto outcome = run(bad);
    EXPECT_EQ(outcome.exit_code, 2) << testing::PrintToString(bad) << outcome.output << outcome.error_output;
    EXPECT_FALSE((outcome.output + outcome.error_output).empty()) << testing::PrintToString(bad);
    EXPECT_FALSE(std::filesystem::exists(no_model)) << testing::PrintToString(bad);
  }
  EXPECT_NE(run({"model", "--help"}).output.find("Examples:"), std::string::npos);
}

// The whole question that a card of 24 GB asks, and one that it cannot answer.
TEST_F(ModelCommand, PlanSaysWhatFitsIntoAGpu) {
  const auto plan = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"model", "plan", "qwen2.5-coder-7b", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.error_output;
    return Json::parse(outcome.output);
  };
  const Json small = plan({"--gpu-memory", "24"});
  EXPECT_EQ(small["method"], "qlora");
  EXPECT_TRUE(small["fits"].get<bool>());
  std::int64_t sum = 0;
  for (const Json& piece : small["pieces"]) sum += piece["bytes"].get<std::int64_t>();
  EXPECT_EQ(sum + small["left_bytes"].get<std::int64_t>(), std::int64_t{24} << 30);
  for (const Json& pass : small["passes"])
    EXPECT_LE(pass["tokens_without_recomputation"].get<int>(), pass["tokens"].get<int>());
  EXPECT_EQ(small["passes"][2]["context"], 2048);
  EXPECT_GE(small["passes"][2]["tokens"].get<int>(), 8192) << "4 x 2048";
  EXPECT_FALSE(plan({"--gpu-memory", "24", "--method", "full"})["fits"].get<bool>());
  EXPECT_LT(plan({"--gpu-memory", "24", "--method", "lora"})["left_bytes"], small["left_bytes"]);
  EXPECT_GT(plan({"--gpu-memory", "24", "--moment-bits", "8"})["left_bytes"], small["left_bytes"]);
  const auto text = run({"model", "plan", qwen, "--gpu-memory", "2"});
  EXPECT_EQ(text.exit_code, 0) << text.error_output;
  EXPECT_NE(text.output.find("left for passes"), std::string::npos) << text.output;
  EXPECT_NE(run({"model", "plan", "qwen2.5-coder-7b", "--gpu-memory", "6"}).output.find("It does not fit"),
            std::string::npos);
}

TEST_F(ModelCommand, AFetchedNameIsAskedFor) {
  const auto outcome = run({"model", "info", "smollm2-135m"}, "", {"KERNELWRIGHT_CACHE=" + in_folder("empty_cache")});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.error_output.find("kernelwright model fetch smollm2-135m"), std::string::npos);
}

TEST_F(ModelCommand, InfoOfModelsAndAdapters) {
  const Json model = Json::parse(run({"model", "info", sharded, "--tensors", "--json"}).output);
  EXPECT_EQ(model["architecture"], "llama");
  EXPECT_EQ(model["parameters"], 22432);
  EXPECT_EQ(model["bytes"], 2 * 22432);
  EXPECT_EQ(model["kind"], "Hugging Face folder of 3 shards");
  EXPECT_EQ(model["formats"]["BF16"]["tensors"], model["tensors"].size());
  EXPECT_TRUE(model["tokenizer_tokens"].is_null());
  const Json adapter = Json::parse(run({"model", "info", qwen + "/adapter", "--json"}).output);
  EXPECT_EQ(adapter["rank"], 2);
  EXPECT_EQ(adapter["scale"], 2.5);
  EXPECT_EQ(adapter["modules"]["q_proj"], 2);
  const auto text = run({"model", "info", tiny()});
  EXPECT_NE(text.output.find("930,432 parameters"), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("1500 tokens"), std::string::npos) << text.output;
}

TEST_F(ModelCommand, TokenizesText) {
  const Json plain = Json::parse(run({"model", "tokenize", tiny(), "a <|im_end|>", "--json"}).output);
  const Json special =
      Json::parse(run({"model", "tokenize", tiny(), "-", "--special", "--json"}, "a <|im_end|>").output);
  EXPECT_GT(plain["ids"].size(), special["ids"].size());
  EXPECT_EQ(special["pieces"].back(), "<|im_end|>");
}

TEST_F(ModelCommand, ConvertedModelsComputeTheSame) {
  const std::string copy = in_folder("copy"), out = in_folder("a.safetensors"), other = in_folder("b.safetensors");
  ASSERT_EQ(run({"model", "convert", sharded, copy, "--type", "f32", "--shard-bytes", "30000"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(copy + "/model.safetensors.index.json"));
  ASSERT_EQ(run({"model", "logits", sharded, "--tokens", "3,1,4,1,5;9", "--out", out}).exit_code, 0);
  ASSERT_EQ(run({"model", "logits", copy, "--tokens", "3,1,4,1,5;9", "--out", other, "--quantised"}).exit_code, 0);
  EXPECT_EQ(tensor(out, "logits"), tensor(other, "logits"));
  EXPECT_EQ(tensor(out, "logits.1"), tensor(other, "logits.1"));
  EXPECT_EQ(tensor(out, "logits").size(), 5u * 64u);
  // Once more over the earlier one.
  ASSERT_EQ(run({"model", "convert", sharded, copy}).exit_code, 0);
  EXPECT_EQ(Json::parse(run({"model", "info", copy, "--json"}).output)["bytes"], 2 * 22432);
}

TEST_F(ModelCommand, QuantisedModelsConvertBack) {
  const std::string four_bits = in_folder("nf4"), back = in_folder("back"), out = in_folder("c.safetensors"),
                    other = in_folder("d.safetensors");
  ASSERT_EQ(run({"model", "quantize", tiny(), four_bits}).exit_code, 0);
  const Json info = Json::parse(run({"model", "info", four_bits, "--json"}).output);
  EXPECT_EQ(info["formats"]["NF4"]["tensors"], 4 * 7);
  EXPECT_EQ(info["tokenizer_tokens"], 1500);
  const Json config = Json::parse(*read_file(four_bits + "/config.json"));
  EXPECT_EQ(config["quantization_config"]["bnb_4bit_quant_type"], "nf4");
  EXPECT_EQ(run({"model", "quantize", four_bits, in_folder("twice")}).exit_code, 2);
  ASSERT_EQ(run({"model", "convert", four_bits, back}).exit_code, 0);
  ASSERT_EQ(run({"model", "logits", back, "--tokens", "5,6,7,8", "--out", out}).exit_code, 0);
  ASSERT_EQ(run({"model", "logits", tiny(), "--tokens", "5,6,7,8", "--out", other}).exit_code, 0);
  const double error = relative_error(tensor(out, "logits"), tensor(other, "logits"));
  EXPECT_GT(error, 1e-3);  // four bits are not thirty-two
  EXPECT_LT(error, 0.3);
  // It is computed with as it is, and a LoRA adapter is trained on it (QLoRA).
  ASSERT_EQ(run({"model", "logits", four_bits, "--tokens", "5,6,7,8", "--out", other}).exit_code, 0);
  EXPECT_EQ(tensor(out, "logits"), tensor(other, "logits"));
  const std::string base = in_folder("qwen_nf4");
  ASSERT_EQ(run({"model", "quantize", qwen, base}).exit_code, 0);
  ASSERT_EQ(run({"model", "gradients", base, "--batch", qwen + "/expected.safetensors", "--out", out, "--adapter",
                 qwen + "/adapter"})
                .exit_code,
            0);
  EXPECT_FALSE(tensor(out, "gradient.model.layers.1.mlp.up_proj.lora_A.weight").empty());
}

TEST_F(ModelCommand, LogitsAndGradientsAreThoseOfTheGoldenFiles) {
  const std::string expected = qwen + "/expected.safetensors", out = in_folder("g.safetensors");
  ASSERT_EQ(run({"model", "gradients", qwen, "--batch", expected, "--out", out}).exit_code, 0);
  EXPECT_LT(relative_error(tensor(out, "log_prob"), tensor(expected, "log_prob")), 5e-6);
  for (const std::string name : {"model.embed_tokens.weight", "model.layers.0.self_attn.k_proj.bias"})
    EXPECT_LT(relative_error(tensor(out, "gradient." + name), tensor(expected, "gradient." + name)), 1e-5) << name;
  ASSERT_EQ(
      run({"model", "gradients", qwen, "--batch", expected, "--out", out, "--adapter", qwen + "/adapter"}).exit_code,
      0);
  const std::string name = "model.layers.1.mlp.up_proj.lora_A.weight";
  EXPECT_LT(relative_error(tensor(out, "gradient." + name), tensor(expected, "lora.gradient." + name)), 1e-5);
}

TEST_F(ModelCommand, GeneratesAndChats) {
  const Json answers = Json::parse(
      run({"model", "generate", qwen, "--tokens", "1,2,3;4", "--max-tokens", "5", "--samples", "2"}).output);
  ASSERT_EQ(answers.size(), 2u);
  ASSERT_EQ(answers[0].size(), 2u);
  EXPECT_EQ(answers[0][0]["tokens"].size(), 5u);
  EXPECT_EQ(answers[0][0]["tokens"], answers[0][1]["tokens"]);  // greedy
  const std::vector<std::string> ask{"model", "chat", tiny(), "--prompt", "hello", "--max-tokens", "8", "--json"};
  const Json first = Json::parse(run(ask).output), second = Json::parse(run(ask).output);
  EXPECT_EQ(first["tokens"], second["tokens"]);
  EXPECT_LE(first["tokens"].size(), 8u);
  std::vector<std::string> other = ask;
  other.insert(other.end(), {"--seed", "9"});
  EXPECT_NE(Json::parse(run(other).output)["tokens"], first["tokens"]);
  std::vector<std::string> on_gpu = ask;
  on_gpu.insert(on_gpu.end(), {"--device", "gpu"});
  const auto gpu = run(on_gpu);  // where there is none, it says so
  EXPECT_TRUE(gpu.exit_code == 0 || gpu.output.find("GPU") != std::string::npos) << gpu.output;
  // A conversation from standard input ends with it.
  const auto talk = run({"model", "chat", tiny(), "--max-tokens", "4"}, "one\ntwo\n/exit\nthree\n");
  EXPECT_EQ(talk.exit_code, 0) << talk.error_output;
}

TEST_F(ModelCommand, BenchmarksSayTheirShareOfTheRoof) {
  const Json train = Json::parse(run({"bench", "train", "tiny-1m", "--sequences", "1", "--length", "16", "--seconds",
                                      "0.01", "--vocabulary", "256", "--json"})
                                     .output);
  EXPECT_GT(train["rows"][0]["tokens_per_s"].get<double>(), 0);
  EXPECT_GT(train["machine"]["gflops"].get<double>(), 0);
  const Json rollout = Json::parse(
      run({"bench", "rollout", tiny(), "--batch", "1,3", "--prompt", "4", "--tokens", "4", "--json"}).output);
  ASSERT_EQ(rollout["rows"].size(), 2u);
  for (const Json& row : rollout["rows"]) {
    EXPECT_GT(row["share_of_roof"].get<double>(), 0);
    EXPECT_LT(row["share_of_roof"].get<double>(), 1);
  }
}

}  // namespace
}  // namespace kw
