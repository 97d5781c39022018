#include "agents/search/kernel_moves.h"

#include <gtest/gtest.h>

#include <set>

namespace kw {
namespace {

const std::string tiled = "constexpr int tile = 16, depth = 8;\n";

// All that it proposes, until it has no more.
std::vector<KernelMove> all_moves(const std::string& kernel, std::uint64_t seed, const ConstantRecords& records = {}) {
  std::set<std::string> seen;
  const KnownKernel known = [&](const std::string& text) { return seen.contains(text); };
  std::vector<KernelMove> moves;
  Random random(seed);
  while (auto move = next_constant_move(kernel, records, known, random)) {
    EXPECT_TRUE(seen.insert(move->kernel).second) << "proposed twice: " << move->change;
    moves.push_back(std::move(*move));
  }
  return moves;
}

TEST(KernelMoves, ProposesEverySingleChangeAndPairsAndThenNothing) {
  const auto moves = all_moves(tiled, 1);
  std::size_t singles = 0, pairs = 0;
  for (const KernelMove& move : moves) ++(move.names.size() == 1 ? singles : pairs);
  EXPECT_EQ(singles, 6u + 6u);  // 16: 2 ... 128; 8: 1 ... 64
  EXPECT_GE(pairs, 3u);
  EXPECT_LE(pairs, 13u) << "three values of each, and both by one factor";
}

TEST(KernelMoves, TwoConstantsMayGoTogether) {
  std::set<std::string> changes;
  for (const KernelMove& move : all_moves("constexpr int threads = 256, warps = 8;\n", 1)) changes.insert(move.change);
  EXPECT_TRUE(changes.contains("threads 256 -> 128, warps 8 -> 4"));
  EXPECT_TRUE(changes.contains("threads 256 -> 512, warps 8 -> 16"));
}

TEST(KernelMoves, TheSameSeedProposesTheSame) {
  const auto changes = [](std::uint64_t seed) {
    std::vector<std::string> texts;
    for (const KernelMove& move : all_moves(tiled, seed)) texts.push_back(move.change);
    return texts;
  };
  EXPECT_EQ(changes(4), changes(4));
  EXPECT_NE(changes(4), changes(5));
}

TEST(KernelMoves, AConstantThatIsPartOfTheAlgorithmIsLeftAlone) {
  for (const KernelMove& move : all_moves(tiled, 1, {{"depth", {4, 0}}}))
    EXPECT_EQ(move.names, std::vector<std::string>{"tile"});
  EXPECT_GT(all_moves(tiled, 1, {{"depth", {4, 1}}}).size(), 12u);
}

TEST(KernelMoves, EveryEditIsProposedOnce) {
  const std::string kernel = "__global__ void k(float* y) { for (int i = 0; i < 9; ++i) y[i] = expf(y[i]); }\n";
  std::set<std::string> seen, kinds;
  const KnownKernel known = [&](const std::string& text) { return seen.contains(text); };
  Random random(1);
  while (auto move = next_edit(kernel, known, random)) {
    EXPECT_TRUE(seen.insert(move->kernel).second);
    kinds.insert(move->names.front());
  }
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_EQ(kinds, (std::set<std::string>{"expf", "restrict", "unroll"}));
}

TEST(KernelMoves, WithoutConstantsThereIsNothingToDo) {
  EXPECT_TRUE(all_moves("__global__ void k() {}\n", 1).empty());
  EXPECT_TRUE(all_moves("", 1).empty());
}

}  // namespace
}  // namespace kw
