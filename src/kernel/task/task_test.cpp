#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>

#include "base/file.h"
#include "kernel/task/input_values.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

const std::string softmax_yaml = R"(name: softmax
tier: 2
pytorch: |
  def reference(x):
      return torch.softmax(x, -1)
inputs:
  x: {dtype: float32, shape: [rows, cols], values: normal}
outputs:
  y: {dtype: float32, shape: [rows, cols]}
sizes:
  small:   [{rows: 7, cols: 129}, {rows: 64, cols: 256}]
  train:   [{rows: 4096, cols: 1024}]
  holdout: [{rows: 1000, cols: 1537}]
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Expression, EvaluatesWithPrecedenceAndBrackets) {
  const Sizes sizes{{"width", 9}, {"n", 4}};
  EXPECT_EQ(*Expression::parse("(width - 3) / 2 + 1")->evaluate(sizes), 4);
  EXPECT_EQ(*Expression::parse("2*n+width*-1")->evaluate(sizes), -1);
  EXPECT_EQ(*Expression::parse("width")->evaluate(sizes), 9);
  EXPECT_EQ(Expression::parse("n * width + n")->names(), (std::vector<std::string>{"n", "width"}));
}

TEST(Expression, RefusesWhatItDoesNotKnow) {
  for (const std::string text : {"", "1 +", "(1", "1)", "a b", "1.5", "2x", "99999999999999999999", "a % b", "+"}) {
    EXPECT_FALSE(Expression::parse(text).ok()) << text;
  }
  EXPECT_FALSE(Expression::parse(std::string(500, '(') + "1").ok());
  EXPECT_FALSE(Expression::parse("1 / (n - n)")->evaluate({{"n", 1}}).ok());
  EXPECT_FALSE(Expression::parse("n * n * n")->evaluate({{"n", 1ll << 40}}).ok());
  EXPECT_FALSE(Expression::parse("m")->evaluate({{"n", 1}}).ok());
}

TEST(TaskYaml, HasAsManyInputsAsADeepNetworkButNotMore) {
  for (const int count : {300, 513}) {
    std::string inputs = "inputs:\n";
    for (int i = 0; i < count; ++i) inputs += "  w" + std::to_string(i) + ": {dtype: float32, shape: [rows, cols]}\n";
    const auto task = parse_task(replaced(softmax_yaml, "inputs:\n", inputs), "many.yaml");
    EXPECT_EQ(task.ok(), count == 300);
    if (task.ok()) continue;
    EXPECT_NE(task.error().message.find("more than 512 inputs"), std::string::npos);
  }
}

TEST(Sizes, ReadsAndWritesTheCommandLineForm) {
  EXPECT_EQ(to_string(*parse_sizes("rows=7,cols=129")), "cols=129,rows=7");
  for (const std::string text :
       {"", "rows", "rows=", "rows=x", "=7", "rows=7,", "rows=7,rows=8", "ro ws=1", "a=1;b=2"}) {
    EXPECT_FALSE(parse_sizes(text).ok()) << text;
  }
}

TEST(TaskFile, ReadsTheExampleOfTheReadme) {
  const auto task = parse_task(softmax_yaml, "softmax.yaml");
  ASSERT_TRUE(task.ok()) << to_string(task.error());
  EXPECT_EQ(task->launcher_declaration(),
            "extern \"C\" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream)");
  EXPECT_EQ(task->sizes_small.size(), 2u);
  EXPECT_EQ(task->sizes_holdout[0].at("cols"), 1537);
}

TEST(TaskFile, ScalarsAndExpressionsAndOrderOfSizes) {
  const auto task = parse_task(R"(
name: pool
tier: 1
pytorch: "def reference(x, alpha): return x"
inputs:
  alpha: {dtype: float16, shape: []}
  index: {dtype: int32, shape: [n], values: {integers: [0, "width - 1"]}}
  x: {dtype: bfloat16, shape: [n, 3, width]}
outputs:
  y: {dtype: bfloat16, shape: [n, 3, "(width - 3) / 2 + 1"]}
  count: {dtype: int64, shape: [1]}
sizes:
  small: [{n: 2, width: 9}]
  train: [{n: 200, width: 900}]
  holdout: [{n: 20, width: 90}]
)",
                               "pool.yaml");
  ASSERT_TRUE(task.ok()) << to_string(task.error());
  EXPECT_EQ(task->launcher_declaration(),
            "extern \"C\" void launch(__half alpha, const int* index, const __nv_bfloat16* x, __nv_bfloat16* y, "
            "long long* count, int n, int width, cudaStream_t stream)");
  EXPECT_EQ(*task->outputs[0].shape_at({{"n", 2}, {"width", 9}}), (std::vector<std::int64_t>{2, 3, 4}));
}

TEST(TaskFile, WhatAUserNeedNotSay) {
  const std::string yaml = R"(
pytorch: |
  def reference(x, keep):
      return torch.where(keep, x, 0)
inputs:
  x: {dtype: float32, shape: [64, 128]}
  keep: {dtype: bool, shape: [64, 128]}
outputs:
  y: {dtype: float32, shape: [64, 128]}
)";
  const auto task = parse_task(yaml, "operations/keep-some.yaml");
  ASSERT_TRUE(task.ok()) << to_string(task.error());
  EXPECT_EQ(task->name, "keep_some");
  EXPECT_EQ(task->launcher_declaration(),
            "extern \"C\" void launch(const float* x, const bool* keep, float* y, cudaStream_t stream)");
  EXPECT_EQ(task->sizes_small, (std::vector<Sizes>{{}}));
  EXPECT_EQ(task->sizes_train, (std::vector<Sizes>{{}}));
  EXPECT_TRUE(task->sizes_holdout.empty());
  const auto inputs = make_inputs(*task, {}, 5);
  ASSERT_TRUE(inputs.ok()) << to_string(inputs.error());
  for (const char byte : (*inputs)[1].bytes) EXPECT_TRUE(byte == 0 || byte == 1);

  EXPECT_EQ(parse_task(yaml, "tasks/4_gate/task.yaml")->name, "task_4_gate");
  const auto named = parse_task(replaced(yaml, "[64, 128]", "[rows, 128]"), "x.yaml");
  ASSERT_FALSE(named.ok());
  EXPECT_NE(named.error().message.find("the shapes name rows"), std::string::npos) << to_string(named.error());
  const auto wide = parse_task(
      replaced(yaml, "dtype: bool, shape: [64, 128]", "dtype: bool, shape: [64, 128], values: {integers: [0, 2]}"),
      "x.yaml");
  ASSERT_FALSE(wide.ok());
  EXPECT_NE(wide.error().message.find("is a bool"), std::string::npos) << to_string(wide.error());
  // Held-out sizes are for those who train.
  EXPECT_TRUE(parse_task(replaced(softmax_yaml, "  holdout: [{rows: 1000, cols: 1537}]\n", ""), "t.yaml").ok());
}

struct BadTask {
  std::string from, to;
  int line;
  std::string message;
};

TEST(TaskFile, ErrorsSayWhereAndWhat) {
  const std::vector<BadTask> cases = {
      {"tier: 2", "tier: 4", 2, "tier is not 0, 1, 2 or 3"},
      {"tier: 2", "tier: two", 2, "must be a whole number"},
      {"tier: 2", "teir: 2", 2, "key 'teir' is not known"},
      {"tier: 2", "tier: 2\ntier: 2", 3, "there twice"},
      {"name: softmax", "name: ../../etc", 1, "letters, digits and _"},
      {"float32, shape: [rows, cols], values", "float33, shape: [rows, cols], values", 7,
       "dtype 'float33' is not known"},
      {"values: normal", "values: gaussian", 7, "'gaussian' are not known"},
      {"values: normal", "values: {integers: [0, vocab]}", 7, "which is in no shape"},
      {"values: normal", "values: {uniform: [2, 1]}", 7, "lower bound is above"},
      {"shape: [rows, cols], values", "shape: rows, values", 7, "a shape is a list"},
      {"shape: [rows, cols], values", "shape: [rows, 'cols +'], values", 7, "did not expect the end"},
      {"  x: {", "  float: {", 7, "is a word of CUDA C++"},
      {"  y: {", "  x: {", 9, "there twice"},
      {"  y: {dtype: float32, shape: [rows, cols]}", "  y: {dtype: float32, shape: []}", 9, "cannot be a scalar"},
      {"{rows: 7, cols: 129}", "{rows: 7}", 11, "size 'cols' of the task 'softmax' is missing"},
      {"{rows: 7, cols: 129}", "{rows: 7, cols: 129, deep: 1}", 11, "no size 'deep'"},
      {"{rows: 7, cols: 129}", "{rows: 0, cols: 129}", 11, "not between 1 and"},
      {"{rows: 7, cols: 129}", "{rows: 70000, cols: 70000}", 11, "more than 2^31 - 1 elements"},
      {"{rows: 1000, cols: 1537}", "{rows: 7, cols: 129}", 13, "also one that is shown"},
      {"  train:   [{rows: 4096, cols: 1024}]\n", "", 11, "'train' are missing"},
      {"small:   [", "small:   [[", 11, "YAML is not valid"},
  };
  for (const BadTask& bad : cases) {
    const auto task = parse_task(replaced(softmax_yaml, bad.from, bad.to), "t.yaml");
    ASSERT_FALSE(task.ok()) << bad.to;
    EXPECT_NE(task.error().message.find(bad.message), std::string::npos) << to_string(task.error());
    EXPECT_NEAR(task.error().where.line, bad.line, bad.message == "YAML is not valid" ? 1 : 0)
        << to_string(task.error());
    EXPECT_EQ(task.error().where.file, "t.yaml");
  }
}

TEST(TaskFile, HostileYamlIsRefused) {
  EXPECT_FALSE(parse_task("", "t").ok());
  EXPECT_FALSE(parse_task("- 1\n- 2\n", "t").ok());
  EXPECT_FALSE(parse_task(std::string(100000, '['), "t").ok());
  EXPECT_FALSE(parse_task(std::string(100000, '-'), "t").ok());
  std::string staircase;
  for (int i = 0; i < 3000; ++i) staircase += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_FALSE(parse_task(staircase, "t").ok());
  std::string dashes;
  for (int i = 0; i < 20000; ++i) dashes += "- ";
  EXPECT_FALSE(parse_task(dashes + "a", "t").ok());
  EXPECT_FALSE(parse_task(std::string("name: a\0b", 9), "t").ok());
  EXPECT_FALSE(parse_task("a: &a [1]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", "t").ok());
  EXPECT_FALSE(parse_task("&a a: *a\n", "t").ok());
  EXPECT_FALSE(parse_task("\xff\xfe\x00", "t").ok());
}

TEST(TaskFile, FolderAndSuite) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "softmax");
  ASSERT_TRUE(write_file_atomic(folder.path() / "softmax" / "task.yaml", softmax_yaml).ok());
  ASSERT_TRUE(write_file_atomic(folder.path() / "softmax" / "naive.cu", "// naive").ok());
  ASSERT_TRUE(write_file_atomic(folder.path() / "broken.yaml", "name: [").ok());
  const auto suite = load_suite(folder.path());
  ASSERT_TRUE(suite.ok());
  ASSERT_EQ(suite->size(), 2u);
  EXPECT_FALSE((*suite)[0].task.ok()) << "a broken task hides no other";
  EXPECT_EQ((*suite)[1].task->naive, "// naive");
  EXPECT_EQ(find_task(folder.path(), "softmax")->name, "softmax");
  EXPECT_EQ(find_task("/nowhere", (folder.path() / "softmax" / "task.yaml").string())->naive, "// naive");
  EXPECT_NE(to_string(find_task(folder.path(), "soft").error()).find("did you mean: softmax"), std::string::npos);
}

TEST(InputValues, AreReproducibleAndIndependentOfOtherTensors) {
  const auto task = parse_task(softmax_yaml, "t");
  const Sizes sizes{{"rows", 100}, {"cols", 100}};
  const auto once = make_inputs(*task, sizes, 5);
  const auto twice = make_inputs(*task, sizes, 5);
  const auto other = make_inputs(*task, sizes, 6);
  EXPECT_EQ((*once)[0].bytes, (*twice)[0].bytes);
  EXPECT_NE((*once)[0].bytes, (*other)[0].bytes);
  double sum = 0;
  for (std::size_t i = 0; i < 10000; ++i) {
    float value;
    std::memcpy(&value, (*once)[0].bytes.data() + 4 * i, 4);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0, 0.05);
  EXPECT_FALSE(make_inputs(*task, {{"rows", 0}, {"cols", 1}}, 5).ok());
}

// Every half and every bfloat16 must survive the way to float and back, and rounding must go to the nearest, ties to
// even.
TEST(InputValues, HalfConversionsAreExact) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_from_float16(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float_from_float16(float16_bits(value))));
    } else {
      ASSERT_EQ(float16_bits(value), half);
    }
    const float brain = float_from_bfloat16(half);
    if (!std::isnan(brain)) {
      ASSERT_EQ(bfloat16_bits(brain), half);
    }
    // Halfway to the next half in magnitude: goes to the even one.
    if ((bits & 0x7FFF) < 0x7BFF) {
      const float next = float_from_float16(static_cast<std::uint16_t>(half + 1));
      const float between = static_cast<float>((static_cast<double>(value) + static_cast<double>(next)) / 2);
      ASSERT_EQ(float16_bits(between), half % 2 == 0 ? half : half + 1) << bits;
    }
  }
  EXPECT_EQ(float16_bits(65520.0f), 0x7C00);
  EXPECT_EQ(float16_bits(65519.9f), 0x7BFF);
  EXPECT_EQ(float16_bits(1e-9f), 0);
  EXPECT_EQ(bfloat16_bits(1.00390625f), 0x3F80) << "a tie goes to the even one";
}

}  // namespace
}  // namespace kw
