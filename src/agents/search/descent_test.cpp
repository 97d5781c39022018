#include "agents/search/descent.h"

#include <gtest/gtest.h>

#include <cmath>

#include "agents/agent/kernel_constants.h"

namespace kw {
namespace {

std::string kernel_with(int tile, int depth) {
  return "constexpr int tile = " + std::to_string(tile) + ", depth = " + std::to_string(depth) + ";\n";
}

// Fastest at tile = 128 and depth = 16; a kernel with depth = 2 cannot be built.
KernelLook look(const std::string& kernel) {
  double distance = 0;
  bool built = true;
  for (const KernelConstant& constant : kernel_constants(kernel)) {
    const double level = std::log2(static_cast<double>(constant.value));
    distance += std::abs(level - (constant.name == "tile" ? 7 : 4));
    built = built && !(constant.name == "depth" && constant.value == 2);
  }
  return {built ? kernel : "", 5 * std::pow(1.2, distance), 1000};
}

struct Found {
  std::vector<DescentFind> finds;
  std::size_t looks = 0;
};

Found descent(const std::vector<DescentStart>& starts, std::size_t most_looks, std::uint64_t seed = 1) {
  Found made;
  Random random(seed);
  const DescentLooks looks{[&](const std::vector<std::string>& texts) -> Result<std::vector<KernelLook>> {
                             made.looks += texts.size();
                             std::vector<KernelLook> seen(texts.size());
                             for (std::size_t i = 0; i < texts.size(); ++i) seen[i] = look(texts[i]);
                             return seen;
                           },
                           [&] { return made.looks < most_looks; }};
  const NextMove next = [](const std::string& kernel, const KnownKernel& known, Random& chance) {
    return next_constant_move(kernel, {}, known, chance);
  };
  auto finds = descend(starts, next, [](const std::string&) { return false; }, looks, random);
  EXPECT_TRUE(finds.ok());
  made.finds = std::move(finds).value();
  return made;
}

DescentStart start_at(int tile, int depth, double known_us) {
  const std::string kernel = kernel_with(tile, depth);
  return {0, kernel, known_us, look(kernel)};
}

TEST(Descent, FindsTheBestConstantsWithoutAVerdict) {
  const Found found = descent({start_at(16, 64, 100)}, 48);
  ASSERT_FALSE(found.finds.empty());
  EXPECT_EQ(found.finds.front().move.kernel, kernel_with(128, 16));
  EXPECT_NEAR(found.finds.front().expected_us, 100 / std::pow(1.2, 5), 1e-9) << "of the time that is known";
  EXPECT_LE(found.looks, 48u + 8u);
  for (std::size_t i = 1; i < found.finds.size(); ++i)
    EXPECT_GE(found.finds[i].expected_us, found.finds[i - 1].expected_us);
}

TEST(Descent, SaysWhatWasChangedFromTheStartOn) {
  const Found found = descent({start_at(16, 64, 100)}, 48);
  EXPECT_EQ(found.finds.front().move.names.size(), 2u);
  const std::string& change = found.finds.front().move.change;
  EXPECT_NE(change.find("tile 16 -> 128"), std::string::npos) << change;
  EXPECT_NE(change.find("depth 64 -> 16"), std::string::npos) << change;
}

TEST(Descent, WhatCannotBeBuiltIsNoFind) {
  for (const DescentFind& find : descent({start_at(16, 4, 100)}, 64).finds)
    EXPECT_EQ(find.move.kernel.find("depth = 2;"), std::string::npos) << find.move.kernel;
}

TEST(Descent, WhatReadsLessThanItsStartIsNoFind) {
  EXPECT_TRUE(reads_less({"code", 5, 800}, {"code", 10, 1000}));
  EXPECT_FALSE(reads_less({"code", 5, 950}, {"code", 10, 1000})) << "samples differ";
  EXPECT_FALSE(reads_less({"code", 0, 0}, {"code", 10, 1000})) << "nobody knows";
  DescentStart start = start_at(16, 64, 100);
  EXPECT_FALSE(descent({start}, 48).finds.empty());
  start.look.input_bytes = 2000;  // twice of what all others read
  EXPECT_TRUE(descent({start}, 48).finds.empty());
}

TEST(Descent, TheSameSeedFindsTheSame) {
  const auto texts = [](std::uint64_t seed) {
    std::string text;
    for (const DescentFind& find : descent({start_at(16, 64, 100), start_at(512, 8, 60)}, 32, seed).finds)
      text += find.move.change + "\n";
    return text;
  };
  EXPECT_EQ(texts(3), texts(3));
  EXPECT_NE(texts(3), texts(4));
}

TEST(Descent, WithoutConstantsOrLooksThereIsNothing) {
  EXPECT_TRUE(descent({{0, "__global__ void k() {}", 10, {"code", 10, 0}}}, 64).finds.empty());
  EXPECT_TRUE(descent({start_at(16, 64, 100)}, 0).finds.empty());
  EXPECT_TRUE(descent({}, 64).finds.empty());
}

}  // namespace
}  // namespace kw
