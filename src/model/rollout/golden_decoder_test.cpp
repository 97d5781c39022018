// Answers against what transformers' generate() gave for the same files (tests/model).

#include <gtest/gtest.h>

#include "model/decoder/gradient_file.h"
#include "model/rollout/cpu_decoder.h"
#include "model/rollout/rollout.h"

namespace kw {
namespace {

TEST(GoldenDecoder, GreedyAnswersAreThoseOfGenerate) {
  ThreadTeam team(2);
  for (const std::string name : {"qwen2_f32", "llama_bf16_sharded", "llama_bf16_tied"}) {
    const std::filesystem::path folder = std::filesystem::path(KW_SOURCE_ROOT) / "tests/model" / name;
    const SafetensorsFile expected = SafetensorsFile::open(folder / "expected.safetensors").value();
    const auto prompts = read_int32s(expected, "greedy_prompts").value();
    const auto answers = read_int32s(expected, "greedy").value();
    const Shape shape = expected.find("greedy_prompts")->shape;
    const std::int64_t length = expected.find("greedy")->shape[1];
    const ModelFiles files = ModelFiles::open(folder).value();
    const auto decoder = make_cpu_decoder(team, files).value();
    Rollout rollout(*decoder);
    std::vector<GenerationRequest> requests;
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      GenerationRequest request;
      request.prompt.assign(prompts.begin() + i * shape[1], prompts.begin() + (i + 1) * shape[1]);
      request.rule.temperature = 0;
      request.max_tokens = length;
      requests.push_back(std::move(request));
    }
    const auto results = rollout.generate(std::move(requests)).value();
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      const std::vector<std::int32_t> theirs(answers.begin() + i * length, answers.begin() + (i + 1) * length);
      EXPECT_EQ(results[static_cast<std::size_t>(i)].samples[0].tokens, theirs) << name << " " << i;
    }
  }
}

}  // namespace
}  // namespace kw
