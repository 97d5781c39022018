#pragma once
// Loops that run long are not emulated to their end. A loop whose condition compares registers that advance by the same
// amount each time (nearly every counted loop) has a known number of iterations left. After some iterations have been
// run in full, as many more stand for all the rest: they are counted with a weight. Then the loop's counters and
// pointers are set to what they would be after its last iteration, and the warp leaves it. Where the branch does not
// depend on such a comparison directly (a double buffer whose last round is special, say), the comparisons inside are
// watched: until the first of them changes its result nothing changes, so the loop is moved on to there.

#include <array>
#include <cstdint>
#include <vector>

#include "emulate/warp.h"
#include "performance/static_code.h"

namespace kw {

struct LoopBudget {
  std::int64_t warp_instructions = 1000;        // of one warp in one loop, before the rest is extrapolated
  std::int64_t hopeless_instructions = 60'000;  // without a known end: leave it (a wait for another block, perhaps)
};

class LoopCutter {
 public:
  explicit LoopCutter(const StaticCode& code) : code_(&code), cut_at_(code.loops.size(), 0) {}

  // The places where loops are cut stay the same from block to block, so that blocks can be compared.
  void begin_block(std::uint32_t warps, const LoopBudget& budget);

  // At a loop's branch: the lanes that go back.
  void at_compare(Warp& warp, const StaticInstruction& compare, LaneMask active);
  LaneMask at_branch(Warp& warp, const StaticInstruction& branch, LaneMask active);
  void count(std::uint32_t warp) { ++warps_[warp].executed; }

  double weight(std::uint32_t warp) const { return warps_[warp].weight; }
  bool cut_any() const { return cut_any_; }
  bool gave_up() const { return gave_up_; }  // some loop had no known end

 private:
  struct Activation {
    std::int64_t iterations = 0;  // times that the branch was taken
    std::int64_t executed_before = 0;
    std::int64_t last_difference = 0;
    std::int64_t step = 0;
    bool steady = false;  // the last two steps were the same
    bool weighted = false;
    double factor = 1;
    std::int64_t leave_at = 0;
    std::int64_t skipped = 0;
    std::vector<std::uint64_t> earlier, before;  // lane values of Loop::integers at the last two iterations
  };
  struct Watched {
    std::int64_t seen = 0;
    std::int64_t difference = 0;
    std::int64_t step = 0;
    bool steady = false;
  };
  struct WarpLoops {
    std::int64_t executed = 0;
    double weight = 1;
    std::vector<Activation> loops;
    std::vector<Watched> compares;
  };

  std::int64_t remaining(Warp& warp, const Loop& loop, const Activation& activation, LaneMask active) const;
  void leave(WarpLoops& state, Activation& activation);
  static void read_integers(Warp& warp, const Loop& loop, std::vector<std::uint64_t>& values);
  static void advance_integers(Warp& warp, const Loop& loop, const Activation& activation);

  const StaticCode* code_;
  std::vector<std::int64_t> cut_at_;  // by loop: from this iteration on weighted, for as many more; 0: not decided
  std::vector<WarpLoops> warps_;
  LoopBudget budget_;
  bool cut_any_ = false;
  bool gave_up_ = false;
};

}  // namespace kw
