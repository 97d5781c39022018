#include "agents/grammar/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "kernel/source/kernel_file.h"
#include "kernel/task/task_file.h"
#include "kernel/task/task_json.h"

namespace kw {
namespace {

ExampleStream stream_of(DataSplit split, std::uint64_t seed = 7) {
  StreamOptions options;
  options.seed = seed;
  options.split = split;
  return ExampleStream(options);
}

TEST(ExampleStream, ExampleIsAFunctionOfSeedAndIndex) {
  const ExampleStream one = stream_of(DataSplit::train), same = stream_of(DataSplit::train),
                      other = stream_of(DataSplit::train, 8);
  int different = 0;
  for (std::uint64_t i : {900u, 3u, 17u, 250u, 17u}) {
    const Example a = one.example_at(i), b = same.example_at(i), c = other.example_at(i);
    EXPECT_EQ(a.kernel, b.kernel);
    EXPECT_EQ(a.drawn.task.pytorch, b.drawn.task.pytorch);
    EXPECT_EQ(a.drawn.task.sizes_train, b.drawn.task.sizes_train);
    different += a.kernel != c.kernel ? 1 : 0;
  }
  EXPECT_GE(different, 4);
}

TEST(ExampleStream, EveryFamilyAndLevelIsWrittenAndTheLauncherFits) {
  std::set<std::pair<Family, Level>> seen;
  for (const DataSplit split : {DataSplit::train, DataSplit::novel}) {
    const ExampleStream stream = stream_of(split);
    for (std::uint64_t i = 0; i < 400; ++i) {
      const DrawnTask drawn = stream.task_at(i);
      for (const Level level : levels_of(drawn.problem)) {
        const std::string kernel = stream.kernel_for(drawn, level, 1);
        seen.insert({drawn.problem.family, level});
        EXPECT_EQ(kernel.find('$'), std::string::npos) << kernel;
        EXPECT_NE(kernel.find("extern \"C\" void launch("), std::string::npos);
      }
    }
  }
  EXPECT_GE(seen.size(), 90u);
}

TEST(ExampleStream, NoLineIsLongAndEverySizeOfAKernelIsUsed) {
  const ExampleStream stream = stream_of(DataSplit::train, 19);
  for (std::uint64_t i = 0; i < 600; ++i) {
    const DrawnTask drawn = stream.task_at(i);
    for (const Level level : levels_of(drawn.problem)) {
      for (const std::uint64_t variant : {house_style, std::uint64_t{1}}) {
        const std::string kernel = stream.kernel_for(drawn, level, variant);
        for (std::size_t at = 0; at < kernel.size();) {
          const std::size_t end = std::min(kernel.find('\n', at), kernel.size());
          ASSERT_LE(end - at, 116u) << kernel;
          at = end + 1;
        }
        const std::size_t head = kernel.find("__global__"), open = kernel.find(") {", head);
        const std::size_t stop = kernel.find("\n}\n", open);
        for (const std::string& size : drawn.problem.dims) {
          const bool declared = kernel.substr(head, open - head).find("int " + size) != std::string::npos;
          const bool used = kernel.substr(open, stop - open).find(size) != std::string::npos;
          ASSERT_TRUE(!declared || used) << size << " is not used\n" << kernel;
        }
      }
    }
  }
}

// Names come from role_names.h: whoever changes a list there changes what was learned.
TEST(ExampleStream, DrawnTasksStayWhatTheyAre) {
  Sha256 hash;
  for (const DataSplit split : {DataSplit::train, DataSplit::composition, DataSplit::novel}) {
    const ExampleStream stream = stream_of(split, 3);
    for (std::uint64_t i = 0; i < 2000; ++i) hash.add(task_json(stream.task_at(i).task).dump());
  }
  EXPECT_EQ(hash.hex(), "aeb5597e297e03ebfefa14862333502216d28bdb79cae1257c380171e7de9787");
}

// Every function of the PyTorch text stands in the kernel's expressions in the same order, under CUDA's name.
TEST(ExampleStream, FormulasAreTranslatedWordForWord) {
  StreamOptions options;
  options.seed = 31;
  options.families = {Family::elementwise, Family::broadcast};
  const ExampleStream stream(options);
  const std::vector<std::pair<std::string, std::string>> words{
      {"torch.sin(", "sinf("},     {"torch.cos(", "cosf("},        {"torch.tanh(", "tanhf("},
      {"torch.sqrt(", "sqrtf("},   {"F.silu(", "silu("},           {"torch.square(", "square("},
      {"F.elu(", "elu("},          {"torch.sigmoid(", "sigmoid("}, {"F.softplus(", "softplus("},
      {"torch.log1p(", "log1pf("}, {"torch.rsqrt(", "rsqrtf("}};
  const auto order = [&](const std::string& text, bool cuda) {
    std::vector<std::pair<std::size_t, std::size_t>> found;  // place, word
    for (std::size_t word = 0; word < words.size(); ++word) {
      const std::string& what = cuda ? words[word].second : words[word].first;
      for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        const char before = at > 0 ? text[at - 1] : ' ';
        if (std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '_') found.emplace_back(at, word);
      }
    }
    std::ranges::sort(found);
    std::vector<std::size_t> result;
    for (const auto& each : found) result.push_back(each.second);
    return result;
  };
  std::size_t long_ones = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const DrawnTask drawn = stream.task_at(i);
    const std::string kernel = stream.kernel_for(drawn, Level::naive, formula_style);
    EXPECT_EQ(kernel, stream.kernel_for(drawn, Level::naive, formula_style));
    const std::size_t begin = kernel.find(" apply("), end = kernel.find("\n\n__global__", begin);
    ASSERT_NE(begin, std::string::npos) << kernel;
    ASSERT_NE(end, std::string::npos) << kernel;
    const std::string expression = kernel.substr(begin, end - begin);
    EXPECT_EQ(std::ranges::count(expression, ';'), 1) << kernel;  // one return, no locals
    EXPECT_EQ(order(drawn.problem.torch_body, false), order(expression, true)) << drawn.problem.torch_body << "\n"
                                                                               << kernel;
    long_ones += order(expression, true).size() > 2 ? 1 : 0;
  }
  EXPECT_GT(long_ones, 30u);
}

// u and w count a thread's results; a row, a column or an operand of that name would hide them.
TEST(ExampleStream, NoLocalHidesACounterOfABlockedProduct) {
  StreamOptions options;
  options.seed = 28;
  options.families = {Family::matmul, Family::attention_scores};
  const ExampleStream stream(options);
  for (std::uint64_t i = 0; i < 150; ++i) {
    const DrawnTask drawn = stream.task_at(i);
    const std::string kernel = stream.kernel_for(drawn, Level::blocked, 1 + i % 3);
    for (const char* hiding : {"int u = first", "int w = first", "float u = ", "float w = ", "int u = sums"})
      ASSERT_EQ(kernel.find(hiding), std::string::npos) << kernel;
  }
}

TEST(ExampleStream, TasksAreReadBackFromTheirJson) {
  const ExampleStream stream = stream_of(DataSplit::train);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Task task = stream.task_at(i).task;
    const auto read = parse_task(task_json(task).dump(), "json");
    ASSERT_TRUE(read.ok()) << to_string(read.error()) << task_json(task).dump(1);
    EXPECT_EQ(read->launcher_declaration(), task.launcher_declaration());
    EXPECT_EQ(read->pytorch, task.pytorch);
    EXPECT_EQ(read->sizes_small, task.sizes_small);
    for (const Sizes& sizes : task.all_sizes()) EXPECT_TRUE(task.check_sizes(sizes).ok()) << to_string(sizes);
  }
}

TEST(ExampleStream, AToleranceIsReadBackToo) {
  Task task = stream_of(DataSplit::train).task_at(0).task;
  EXPECT_FALSE(parse_task(task_json(task).dump(), "json").value().tolerance);
  task.tolerance = Tolerance{1.0 / 3, 1e-7};
  const auto read = parse_task(task_json(task).dump(), "json");
  ASSERT_TRUE(read.ok()) << to_string(read.error());
  ASSERT_TRUE(read->tolerance);
  EXPECT_EQ(read->tolerance->relative, 1.0 / 3);
  EXPECT_EQ(read->tolerance->absolute, 1e-7);
}

// What training sees and what is held out have no structure and no size in common.
TEST(HeldOut, TrainingAndEvaluationAreDisjointIn100000Draws) {
  const ExampleStream train = stream_of(DataSplit::train), composition = stream_of(DataSplit::composition),
                      novel = stream_of(DataSplit::novel);
  std::set<std::uint64_t> trained, families;
  for (std::uint64_t i = 0; i < 80'000; ++i) {
    const DrawnTask drawn = train.task_at(i);
    trained.insert(checksum64(drawn.structure));
    ASSERT_EQ(split_of_structure(drawn.structure), DataSplit::train);
    families.insert(static_cast<std::uint64_t>(drawn.problem.family));
    for (const auto* list : {&drawn.task.sizes_small, &drawn.task.sizes_train})
      for (const Sizes& sizes : *list)
        for (const auto& [name, value] : sizes) ASSERT_NE(value % held_out_factor, 0) << name;
    for (const Sizes& sizes : drawn.task.sizes_holdout)
      for (const auto& [name, value] : sizes) ASSERT_EQ(value % held_out_factor, 0) << name;
  }
  for (std::uint64_t i = 0; i < 15'000; ++i) {
    const DrawnTask drawn = composition.task_at(i);
    ASSERT_EQ(trained.count(checksum64(drawn.structure)), 0u) << drawn.structure;
    ASSERT_EQ(families.count(static_cast<std::uint64_t>(drawn.problem.family)), 1u);  // its parts are seen
    ASSERT_EQ(drawn.task.split, Split::holdout);
    ASSERT_EQ(split_of_structure(drawn.structure), DataSplit::composition);
  }
  for (std::uint64_t i = 0; i < 5'000; ++i)
    ASSERT_EQ(families.count(static_cast<std::uint64_t>(novel.task_at(i).problem.family)), 0u);
}

TEST(HeldOut, NovelFamiliesAndSuiteStructuresAreNamed) {
  for (const Family family : novel_families()) {
    Problem problem;
    problem.family = family;
    problem.operands.resize(1);
    problem.pre = operand_expression(0);
    problem.post = operand_expression(1);
    EXPECT_EQ(split_of(problem), DataSplit::suite) << "the bare operation is a held-out task of tasks/";
  }
  Problem softplus;
  softplus.operands.resize(1);
  softplus.pre = operand_expression(0);
  softplus.pre.nodes.push_back({Op::softplus, 0});
  softplus.post = operand_expression(1);
  EXPECT_EQ(structure_of(softplus), "elementwise|softplus(full0);result1;");
  EXPECT_EQ(split_of(softplus), DataSplit::suite);
}

// Rows of equal numbers have no mean that a sum in floats finds exactly; the normalisation would show nothing else.
TEST(Grammar, LayerNormNeverAsksForRowsThatAreConstantWhereInputsAreZero) {
  StreamOptions options;
  options.seed = 28;
  options.families = {Family::layer_norm};
  const ExampleStream stream(options);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Problem problem = stream.task_at(i).problem;
    std::vector<double> zeros;
    for (const Operand& operand : problem.operands) zeros.push_back(operand.is_scalar() ? 1 : 0);
    ASSERT_EQ(evaluate(problem.pre, zeros), 0) << problem.torch_body;
  }
}

TEST(ScalarExpression, IsEvaluated) {
  ScalarExpression e = operand_expression(0);
  e.nodes.push_back({Op::constant, -1, -1, -1, 0, 3});
  e.nodes.push_back({Op::subtract, 0, 1});
  e.nodes.push_back({Op::gelu, 2});
  EXPECT_NEAR(evaluate(e, {4}), 0.841345, 1e-6);
  e.nodes.back().op = Op::softplus;
  EXPECT_NEAR(evaluate(e, {4}), 1.313262, 1e-6);
}

TEST(Structure, IgnoresNamesConstantsAndTheOrderOfCommutativeOperands) {
  Problem one;
  one.operands.resize(2);
  one.post = operand_expression(2);
  // relu(a) + 2 * b and 3 * a + relu(b)
  one.pre.nodes = {{Op::operand, -1, -1, -1, 0, 0}, {Op::relu, 0},        {Op::constant, -1, -1, -1, 0, 2},
                   {Op::operand, -1, -1, -1, 1, 0}, {Op::multiply, 2, 3}, {Op::add, 1, 4}};
  Problem other = one;
  other.operands[0].name = "gate";
  other.dtype = Dtype::float16;
  other.pre.nodes = {{Op::constant, -1, -1, -1, 0, 3},
                     {Op::operand, -1, -1, -1, 0, 0},
                     {Op::multiply, 1, 0},
                     {Op::operand, -1, -1, -1, 1, 0},
                     {Op::relu, 3},
                     {Op::add, 2, 4}};
  EXPECT_EQ(structure_of(one), structure_of(other));
  other.pre.nodes[4].op = Op::tanh;
  EXPECT_NE(structure_of(one), structure_of(other));
  other = one;
  other.operands[1].label = "row";
  EXPECT_NE(structure_of(one), structure_of(other));
}

}  // namespace
}  // namespace kw
