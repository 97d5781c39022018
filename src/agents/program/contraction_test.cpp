#include "agents/program/contraction.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agents/program/test_asked.h"
#include "base/random.h"
#include "base/test_length.h"

namespace kw::program {
namespace {

Asked product(const std::string& body) {
  Asked asked;
  asked.body = body;
  asked.inputs = {"a: [m, k]", "b: [k, n]"};
  return asked;
}

TEST(Contractions, AreFoundHoweverTheyAreWritten) {
  for (const char* body : {"a @ b", "torch.mm(a, b) * 2", "torch.einsum('ij,jk->ik', a, b)", "F.linear(a, b.t())",
                           "torch.relu(torch.matmul(a, b))", "(a.unsqueeze(2) * b.unsqueeze(0)).sum(1)"}) {
    const std::string kernel = kernel_of(task_of(product(body)));
    EXPECT_EQ(count(kernel, " block_at<"), 1) << body << "\n" << kernel;
    EXPECT_EQ(count(kernel, "  Copied<"), 2) << body << "\n" << kernel;
    EXPECT_EQ(count(kernel, "__global__"), 1) << body << "\n" << kernel;
  }
}

TEST(Contractions, HaveConstantsAtTheirTopAndNoGather) {
  const std::string kernel = kernel_of(task_of(product("a @ b")));
  for (const char* name : {"tile_m = ", "tile_k = ", "warps_m = ", "stages = ", "splits = "})
    EXPECT_NE(kernel.find(name), std::string::npos) << name;
  EXPECT_EQ(kernel.find("  Gathered<"), std::string::npos) << kernel;
}

TEST(Contractions, ComputeAFactorThatIsNoTensor) {
  const std::string kernel = kernel_of(task_of(product("torch.relu(a) @ b")));
  EXPECT_EQ(count(kernel, "  Gathered<"), 1) << kernel;
  EXPECT_EQ(count(kernel, "  Copied<"), 1) << kernel;
}

TEST(Contractions, OfConvolutionsMoveAWindow) {
  Asked asked;
  asked.inputs = {"x: [b, ci, h, w]", "weight: [co, ci, 3, 3]"};
  asked.body = "F.conv2d(x, weight, padding=1)";
  asked.output = "[b, co, h, w]";
  asked.small = "{b: 2, ci: 5, h: 9, w: 7, co: 6}, {b: 1, ci: 4, h: 8, w: 8, co: 4}";
  asked.train = "{b: 16, ci: 64, h: 56, w: 56, co: 64}";
  const std::string kernel = kernel_of(task_of(asked));
  EXPECT_EQ(count(kernel, "  contract<"), 1) << kernel;
  EXPECT_EQ(count(kernel, "  Windowed<"), 1) << kernel;
  EXPECT_EQ(count(kernel, "  Copied<"), 1) << kernel;
  // Too few channels to fill a tile's depth.
  asked.train = "{b: 16, ci: 3, h: 112, w: 112, co: 64}";
  const std::string few = kernel_of(task_of(asked));
  EXPECT_EQ(count(few, "  Gathered<"), 1) << few;
  EXPECT_EQ(count(few, "  Copied<"), 1) << few;
}

TEST(Contractions, AreLeftAloneWhereTilesDoNotPay) {
  Asked tiny = product("a @ b");
  tiny.train = "{m: 64, k: 64, n: 64}";
  EXPECT_EQ(count(kernel_of(task_of(tiny)), "block_at<"), 0);
  Asked vector = product("(a @ b).sum(1)");
  vector.output = "[m]";
  const std::string kernel = kernel_of(task_of(vector));
  EXPECT_LE(count(kernel, " block_at<"), 1) << kernel;
  // The same tensor on both sides has no rows of its own.
  Asked squares = product("(a * a).sum(1, keepdim=True) + b[:1, :1]");
  squares.output = "[m, 1]";
  EXPECT_EQ(count(kernel_of(task_of(squares)), "block_at<"), 0);
}

TEST(Contractions, GiveWayToATaskThatUsesTheirNames) {
  Asked asked = product("row @ b");
  asked.inputs[0] = "row: [m, k]";
  EXPECT_EQ(count(kernel_of(task_of(asked)), "block_at<"), 0);
}

// An exponential, or a decision, makes small errors of what it is computed from large.
TEST(Contractions, ArePreciseWhereErrorsGrowBehindThem) {
  for (const char* body : {"torch.softmax(a @ b, 1)", "torch.floor(a @ b)", "torch.exp(-(a @ b))"})
    EXPECT_EQ(count(kernel_of(task_of(product(body))), "  contract_precisely<"), 1) << body;
  for (const char* body : {"a @ b", "torch.relu(a @ b) + 1", "F.leaky_relu(a @ b)"}) {
    const std::string kernel = kernel_of(task_of(product(body)));
    EXPECT_EQ(count(kernel, "  contract<"), 1) << body << "\n" << kernel;
  }
}

TEST(Contractions, OfFewResultsAreSummedInParts) {
  Asked asked = product("torch.tanh(a @ b)");
  asked.train = "{m: 128, k: 8192, n: 128}";
  const std::string kernel = kernel_of(task_of(asked));
  EXPECT_EQ(count(kernel, "__global__"), 2) << kernel;
  EXPECT_EQ(count(kernel, "cudaFreeAsync"), 1) << kernel;
}

// Every thread copies as much as every other, and a block's tiles fit into the shared memory of 99 KiB that GPUs have.
TEST(Contractions, HaveTilesThatThreadsShareEvenly) {
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    const auto some = [&] { return std::int64_t{1} << random.integer(4, 13); };
    const ContractionSize size{random.integer(1, 64), some(), some(), some()};
    for (const Arithmetic arithmetic : {Arithmetic::bfloat16_parts, Arithmetic::tf32_parts, Arithmetic::float16})
      for (const bool gathered : {true, false}) {
        const ContractionTiles tiles = tiles_for(size, arithmetic, gathered);
        const int width = type_of(arithmetic) == Dtype::float32 ? 4 : 8;
        for (const int lines : {tiles.tile_m, tiles.tile_n}) {
          EXPECT_EQ(lines * tiles.tile_k / width % tiles.threads(), 0);
          EXPECT_EQ(tiles.threads() % (lines / width), 0);
          EXPECT_EQ(tiles.threads() % (tiles.tile_k / width), 0);
        }
        EXPECT_EQ(tiles.tile_m / tiles.warps_m % 32, 0);
        EXPECT_EQ(tiles.tile_n / tiles.warps_n % 32, 0);
        EXPECT_LE(tiles.stages * (tiles.tile_m + tiles.tile_n) * tiles.tile_k * (16 / width), 99 << 10);
        EXPECT_GE(tiles.splits, 1);
      }
  }
}

Asked drawn_product(Random& random) {
  const auto yes = [&] { return random.integer(0, 1) == 1; };
  const char* dtypes[] = {"float32", "float32", "float16", "bfloat16"};
  Asked asked;
  asked.dtype = dtypes[random.integer(0, 3)];
  const bool batched = yes(), left_turned = yes(), right_turned = yes();
  const std::string lead = batched ? "s, " : "";
  asked.inputs = {fmt::format("a: [{}{}]", lead, left_turned ? "k, m" : "m, k"),
                  fmt::format("b: [{}{}]", batched && yes() ? lead : "", right_turned ? "n, k" : "k, n"), "bias: [n]"};
  asked.output = fmt::format("[{}m, n]", lead);
  const std::string sum = fmt::format("torch.matmul(a{}, b{})", left_turned ? ".transpose(-2, -1)" : "",
                                      right_turned ? ".transpose(-2, -1)" : "");
  const std::string bodies[] = {sum + " + bias", fmt::format("torch.relu({} * 0.5 + bias)", sum),
                                fmt::format("torch.sigmoid({}) * bias", sum), fmt::format("F.gelu({} + bias)", sum)};
  asked.body = bodies[random.integer(0, 3)];
  // Whole pieces of 16 bytes, and edges within them.
  const std::int64_t step = yes() ? 8 : 1;
  const auto size = [&](std::int64_t high) { return step * random.integer(1, high / step); };
  asked.small.clear();
  for (int i = 0; i < 2; ++i)
    asked.small += fmt::format("{}{{{}m: {}, k: {}, n: {}}}", i > 0 ? ", " : "", batched ? "s: 3, " : "", size(80),
                               size(100), size(80));
  // Few results of long sums, some tiles, many tiles.
  const char* trains[] = {"m: 64, k: 2048, n: 256", "m: 512, k: 256, n: 256", "m: 2048, k: 256, n: 2304"};
  asked.train = fmt::format("{{{}{}}}", batched ? "s: 4, " : "", trains[random.integer(0, 2)]);
  return asked;
}

TEST(ContractionsSlow, AreRightInTheEmulator) {
  Judged judged;
  Random random(11);
  const int products = thorough_tests() ? 40 : 10;
  for (int i = 0; i < products; ++i) {
    const Asked asked = drawn_product(random);
    const std::string kernel = kernel_of(task_of(asked));
    ASSERT_EQ(count(kernel, " block_at<"), 1) << asked.body << "\n" << kernel;
    const Verdict verdict = judged(asked, kernel);
    EXPECT_TRUE(verdict.correct) << asked.dtype << " " << asked.body << " " << asked.small << "\n" << verdict.feedback;
  }
}

TEST(ContractionsSlow, AreRightAsConvolutions) {
  Judged judged;
  for (const char* form : {"padding=1", "stride=2", "padding=2, dilation=2", "groups=2, padding=1"}) {
    for (const int channels : {4, 32}) {
      Asked asked;
      const bool groups = std::string(form).starts_with("groups");
      asked.inputs = {"x: [b, 2 * ci, h, w]", fmt::format("weight: [2 * co, {}, 3, 3]", groups ? "ci" : "2 * ci")};
      for (std::string& input : asked.inputs)
        for (const char* extent : {"2 * ci", "2 * co"})
          if (const std::size_t at = input.find(extent); at != std::string::npos)
            input.replace(at, 6, fmt::format("\"{}\"", extent));
      asked.body = fmt::format("torch.relu(F.conv2d(x, weight, {}))", form);
      const std::string side = std::string(form).starts_with("stride") ? "({} - 3) / 2 + 1" : "{}";
      asked.output = fmt::format("[b, \"2 * co\", \"{}\", \"{}\"]", fmt::format(fmt::runtime(side), "h"),
                                 fmt::format(fmt::runtime(side), "w"));
      asked.small = "{b: 2, ci: 3, h: 9, w: 7, co: 5}, {b: 1, ci: 4, h: 8, w: 8, co: 8}";
      asked.train = fmt::format("{{b: 16, ci: {}, h: 56, w: 57, co: 32}}", channels);
      const std::string kernel = kernel_of(task_of(asked));
      if (!groups) {
        EXPECT_EQ(count(kernel, " block_at<"), 1) << kernel;
      }
      const Verdict verdict = judged(asked, kernel);
      EXPECT_TRUE(verdict.correct) << form << "\n" << verdict.feedback << kernel;
    }
  }
}

}  // namespace
}  // namespace kw::program
