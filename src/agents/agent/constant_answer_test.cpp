#include "agents/agent/constant_answer.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

const std::string given =
    "constexpr int tile_m = 64, stages = 2;\n"
    "__global__ void k(float* y) { y[0] = tile_m * stages; }\n"
    "extern \"C\" void launch(float* y, int n, cudaStream_t stream) { k<<<n, 128, 0, stream>>>(y); }\n";

std::string with(const std::string& tile, const std::string& stages, const std::string& block = "128") {
  std::string kernel = given;
  kernel.replace(kernel.find("k<<<n, 128"), 10, "k<<<n, " + block);
  kernel.replace(kernel.find("stages = 2"), 10, "stages = " + stages);
  return kernel.replace(kernel.find("tile_m = 64"), 11, "tile_m = " + tile);
}

std::string changed(std::string_view text) {
  const auto answer = parse_constant_answer(text, given);
  return answer.ok() ? answer->kernel : "none: " + answer.error().message;
}

TEST(ConstantAnswer, IsReadHoweverItIsWritten) {
  for (const char* text :
       {"tile_m = 128, stages = 3", "tile_m=128;stages=3;", "tile_m = 128\nstages = 3\n<|end|>made up",
        "```\ntile_m = 128\nstages = 3\n```", "Strategy: larger tiles, more stages.\ntile_m = 128, stages = 3",
        "stages = 3,tile_m = 128<|im_end|>\n<|im_start|>user"})
    EXPECT_EQ(changed(text), with("128", "3")) << text;
  EXPECT_EQ(changed("block 128 = 256"), with("64", "2", "256"));
  EXPECT_EQ(parse_constant_answer("stages = 3, tile_m = 128", given)->change, "stages 2 -> 3, tile_m 64 -> 128");
}

TEST(ConstantAnswer, WhatIsNotWhollyUnderstoodIsNone) {
  for (const char* text :
       {"", "\n\n", "I would raise tile_m.", "tile_m = 128 because it is faster", "tile = 128", "tile_m = 1e3",
        "tile_m = 0x80", "tile_m = -1", "tile_m = 0", "tile_m = 99999999999999999999", "tile_m = 5000", "tile_m",
        "= 128", "tile_m = 64", "tile_m = 128, tile_m = 32", "tile_m = 128, depth = 3",
        "tile_m = 128); system(\"rm\"); (", "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1"})
    EXPECT_TRUE(changed(text).starts_with("none: ")) << text << " gave " << changed(text);
  EXPECT_TRUE(changed("tile_m = 128" + std::string(2000, ' ')).starts_with("none: "));
}

TEST(ConstantAnswer, AnOptimizerMayAnswerSo) {
  const std::string text = "tile_m = 128, stages = 3";
  const Answer answer = with_constants_changed(parse_answer(text), text, given);
  EXPECT_EQ(answer.outcome, AnswerOutcome::kernel);
  EXPECT_EQ(answer.kernel, with("128", "3"));
  EXPECT_EQ(answer.said, "tile_m 64 -> 128, stages 2 -> 3");
  const std::string fenced = "```\ntile_m = 128\n```";
  EXPECT_EQ(with_constants_changed(parse_answer(fenced), fenced, given).outcome, AnswerOutcome::kernel);
  // A Generator has no kernel to change; words stay words; a whole kernel stays what it is.
  EXPECT_EQ(with_constants_changed(parse_answer(text), text, "").outcome, parse_answer(text).outcome);
  EXPECT_NE(with_constants_changed(parse_answer("no idea"), "no idea", given).outcome, AnswerOutcome::kernel);
  EXPECT_EQ(with_constants_changed(parse_answer(given), given, given).kernel, parse_answer(given).kernel);
}

}  // namespace
}  // namespace kw
