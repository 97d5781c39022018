#include "agents/agent/kernel_constants.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace kw {
namespace {

const KernelConstant* named(const std::vector<KernelConstant>& constants, std::string_view name) {
  const auto found = std::ranges::find(constants, name, &KernelConstant::name);
  return found == constants.end() ? nullptr : &*found;
}

std::string changed(std::string_view kernel, std::string_view name, std::int64_t value) {
  const auto constants = kernel_constants(kernel);
  const KernelConstant* constant = named(constants, name);
  return constant == nullptr ? "there is no " + std::string(name) : with_values(kernel, {{constant, value}});
}

std::vector<std::string> names_of(std::string_view kernel) {
  std::vector<std::string> names;
  for (const KernelConstant& constant : kernel_constants(kernel)) names.push_back(constant.name);
  return names;
}

TEST(KernelConstants, NamedOnesAreFoundHoweverTheyAreWritten) {
  const std::string text = R"(
#define BLOCK 256
#define DEPTH (16)
#define SQUARE(x) ((x) * 4)
constexpr int tile = 64, stages = 2;
static const unsigned rows_a_block = 4u;
enum { PER_THREAD = 8, OTHER };
template <int width = 4> __global__ void k(const float* x) { const int half = tile / 2; const float scale = 2.0f; }
)";
  EXPECT_EQ(names_of(text),
            (std::vector<std::string>{"BLOCK", "DEPTH", "tile", "stages", "rows_a_block", "PER_THREAD", "width"}));
  EXPECT_NE(changed(text, "rows_a_block", 8).find("rows_a_block = 8u;"), std::string::npos);
  EXPECT_NE(changed(text, "DEPTH", 32).find("#define DEPTH (32)"), std::string::npos);
  EXPECT_NE(changed(text, "stages", 3).find("tile = 64, stages = 3;"), std::string::npos);
}

TEST(KernelConstants, NothingElseOfTheTextChanges) {
  const std::string text = "// tile = 64\nconstexpr int tile = 64;  // 64\nconst char* s = \"64\";\n";
  EXPECT_EQ(changed(text, "tile", 128), "// tile = 64\nconstexpr int tile = 128;  // 64\nconst char* s = \"64\";\n");
}

TEST(KernelConstants, TheNumbersOfALaunchGoTogether) {
  const std::string text =
      "__global__ void k(float* y, int n) { __shared__ float s[256]; }\n"
      "extern \"C\" void launch(float* y, int n, cudaStream_t stream) {\n"
      "  k<<<(n + 255) / 256, 256, 0, stream>>>(y, n);\n}\n";
  EXPECT_EQ(changed(text, "block 256", 512),
            "__global__ void k(float* y, int n) { __shared__ float s[512]; }\n"
            "extern \"C\" void launch(float* y, int n, cudaStream_t stream) {\n"
            "  k<<<(n + 511) / 512, 512, 0, stream>>>(y, n);\n}\n");
  EXPECT_NE(changed(text, "block 256 of the launcher", 128).find("s[256]"), std::string::npos);
  EXPECT_NE(changed(text, "block 256 of the launcher", 128).find("(n + 127) / 128, 128, 0"), std::string::npos);
}

TEST(KernelConstants, HowManyAreWorkedOnTogether) {
  const std::string text =
      "const int groups = (channels + 3) / 4; float sum[4]; for (int u = 0; u < 4; ++u) sum[u] = 0;";
  EXPECT_EQ(changed(text, "rounded up 4", 8),
            "const int groups = (channels + 7) / 8; float sum[8]; for (int u = 0; u < 8; ++u) sum[u] = 0;");
  EXPECT_TRUE(kernel_constants("const int half = n / 2; const int odd = (n + 3) / 2;").empty());
}

TEST(KernelConstants, TilesOfDim3AndTemplateArgumentsAreFound) {
  const std::string text =
      "template <int t> __global__ void k(float* y) { __shared__ float s[16][17]; }\n"
      "extern \"C\" void launch(float* y, int n, cudaStream_t stream) {\n"
      "  dim3 block(16, 16);\n  k<4><<<n / 16, block, 0, stream>>>(y);\n}\n";
  const std::string larger = changed(text, "block 16", 32);
  EXPECT_NE(larger.find("s[32][33]"), std::string::npos);
  EXPECT_NE(larger.find("dim3 block(32, 32)"), std::string::npos);
  EXPECT_NE(larger.find("n / 32"), std::string::npos);
  EXPECT_NE(changed(text, "template argument 4", 8).find("k<8><<<"), std::string::npos);
}

TEST(KernelConstants, ANamedConstantMayHaveTwinsWithoutItsName) {
  const std::string text = "const int threads = 128;\n__global__ void k() { __shared__ float s[128]; }\n";
  EXPECT_EQ(changed(text, "threads", 256),
            "const int threads = 256;\n__global__ void k() { __shared__ float s[128]; }\n");
  EXPECT_EQ(changed(text, "threads and every 128", 256),
            "const int threads = 256;\n__global__ void k() { __shared__ float s[256]; }\n");
}

TEST(KernelConstants, AWarpKeepsItsThreads) {
  EXPECT_TRUE(kernel_constants("constexpr int warp_size = 32;\n#define WARP_SIZE 32\n").empty());
  EXPECT_EQ(kernel_constants("constexpr int warps = 32;\n").size(), 1u);
}

TEST(KernelConstants, SeveralChangeAtOnce) {
  const std::string text = "constexpr int tile = 64, depth = 8;\n";
  const auto constants = kernel_constants(text);
  const std::vector<ConstantChange> both{{&constants.at(1), 16}, {&constants.at(0), 32}};
  EXPECT_EQ(with_values(text, both), "constexpr int tile = 32, depth = 16;\n");
  EXPECT_EQ(to_string(both), "depth 8 -> 16, tile 64 -> 32");
}

TEST(KernelConstants, ValuesAreNearFirstAndFitTheUse) {
  EXPECT_EQ(other_values({"threads", 256, true}).front(), 320);
  for (const std::int64_t value : other_values({"threads", 256, true})) EXPECT_EQ(value % 32, 0);
  EXPECT_EQ(other_values({"tile", 8, false}), (std::vector<std::int64_t>{4, 16, 2, 32, 1, 64}));
  EXPECT_EQ(other_values({"rows", 1, false}), (std::vector<std::int64_t>{2, 4, 8}));
  EXPECT_EQ(other_values({"odd", 6, false}), (std::vector<std::int64_t>{8, 4, 3, 12, 16, 2, 32, 1}));
}

// Texts that nobody would write: nothing is read beyond its end, and what is found is bounded.
TEST(KernelConstants, HostileTextsAreBounded) {
  std::string many, constants, open;
  for (int i = 0; i < 4000; ++i) {
    many += "k<64><<<1, 64, ";
    constants += "const const const ";
    open += "void launch(";
  }
  std::string names;
  for (int i = 0; i < 3000; ++i) names += "const int a" + std::to_string(i) + " = 64;";
  for (const std::string& text :
       {std::string(), many, constants, open, names, std::string("<<<"), std::string("dim3("),
        std::string("template <int"), std::string("enum {a="), std::string("#define A"), std::string("const int a ="),
        std::string("__launch_bounds__(64"), std::string("#pragma unroll"), std::string(70'000, '<'),
        std::string("\0const int a = 1;", 17)}) {
    const auto found = kernel_constants(text);
    EXPECT_LE(found.size(), most_kernel_constants);
    for (const KernelConstant& constant : found) {
      ASSERT_FALSE(constant.places.empty());
      EXPECT_FALSE(with_values(text, {{&constant, 2 * constant.value}}).empty());
    }
  }
  EXPECT_TRUE(kernel_constants(std::string(max_tuned_kernel_bytes + 1, ' ') + "const int a = 64;").empty());
}

TEST(KernelConstants, AnyTokensInAnyOrder) {
  const std::vector<std::string> words{
      "const",   "int", "tile", "=",        "64",   ",",    ";",      "<<<",
      ">>>",     "(",   ")",    "{",        "}",    "dim3", "<",      ">",
      "128",     "[",   "]",    "+",        "127",  "k",    "launch", "void",
      "#define", "\n",  "A",    "template", "enum", "0x10", "1e9",    "99999999999999999999",
      "\\\n"};
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i)
      text += words[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(words.size()) - 1))] + " ";
    const auto found = kernel_constants(text);
    for (const KernelConstant& constant : found) {
      for (const ConstantPlace& place : constant.places) {
        ASSERT_LE(place.offset + place.bytes, text.size());
        ASSERT_EQ(text.substr(place.offset, place.bytes), std::to_string(constant.value + place.more) + place.suffix);
      }
      // The same value changes nothing.
      ASSERT_EQ(with_values(text, {{&constant, constant.value}}), text);
    }
  }
}

}  // namespace
}  // namespace kw
