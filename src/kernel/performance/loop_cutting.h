#pragma once
// Loops that run long are not emulated to their end. A loop whose condition compares registers that advance by the same
// amount each time (nearly every counted loop) has a known number of iterations left. After some iterations have been
// run in full, as many more stand for all the rest: they are counted with a weight. Then the loop's counters and
// pointers are set to what they would be after its last iteration, and the warp leaves it. Where the branch does not
// depend on such a comparison directly (a double buffer whose last round is special, say), the comparisons inside are
// watched: until the first of them changes its result nothing changes, so the loop is moved on to there.
//
// That later iterations cost what the first ones did is not believed but looked at: before the warp leaves, it is moved
// to iterations at secret places and to the last one, which are run without being recorded. Where one of them costs
// something else, the block is `uneven` and is to be run again with `integrate`: then each such place stands for its
// part of the loop, and more of them are looked at.

#include <array>
#include <cstdint>
#include <vector>

#include "kernel/emulate/warp.h"
#include "kernel/performance/static_code.h"

namespace kw {

struct LoopBudget {
  std::int64_t warp_instructions = 1000;        // of one warp in one loop, before the rest is extrapolated
  std::int64_t hopeless_instructions = 60'000;  // without a known end: leave it (a wait for another block, perhaps)
  std::uint64_t seed = 1;                       // of the iterations that are looked at; one for each block
  bool integrate = false;                       // iterations differ: count what is seen in all parts of a loop
};

class LoopCutter {
 public:
  explicit LoopCutter(const StaticCode& code) : code_(&code), cut_at_(code.loops.size(), 0) {}

  // The places where loops are cut stay the same from block to block, so that blocks can be compared.
  void begin_block(std::uint32_t warps, const LoopBudget& budget);

  // At a loop's branch: the lanes that go back.
  void at_compare(Warp& warp, const StaticInstruction& compare, LaneMask active);
  LaneMask at_branch(Warp& warp, const StaticInstruction& branch, LaneMask active);
  void count(std::uint32_t warp) {
    ++warps_[warp].executed;
    warps_[warp].cost += warps_[warp].weight;
  }
  // Sectors that the instruction asks for: iterations are compared with them too.
  void add_sectors(std::uint32_t warp, double sectors) { warps_[warp].cost += warps_[warp].weight * sectors; }

  double weight(std::uint32_t warp) const { return warps_[warp].weight; }
  // The iteration is run to be compared, not to be counted.
  bool unrecorded(std::uint32_t warp) const { return warps_[warp].unrecorded > 0; }
  bool uneven() const { return uneven_; }  // of the block: iterations that were looked at differ from those counted
  bool cut_any() const { return cut_any_; }
  bool gave_up() const { return gave_up_; }  // some loop had no known end

 private:
  struct Costs {
    double number = 0, sum = 0, squares = 0;
    void add(double cost) {
      number += 1;
      sum += cost;
      squares += cost * cost;
    }
  };
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
    // Iterations that are looked at.
    std::vector<std::int64_t> jumps;  // iterations that are passed over before each of the places; empty: none
    std::vector<std::uint64_t> steps;
    std::size_t place = 0;   // the next one
    bool looking = false;    // at the place before
    double cost_before = 0;  // of the warp, at the last branch
    Costs counted, seen;     // of the iterations that are counted with a weight, and of those at the places
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
    double cost = 0;     // weighted: instructions and sectors
    int unrecorded = 0;  // loops around that are at a place which is only looked at
    std::vector<Activation> loops;
    std::vector<Watched> compares;
  };

  std::int64_t remaining(Warp& warp, const Loop& loop, const Activation& activation, LaneMask active) const;
  void leave(WarpLoops& state, Activation& activation);
  void begin_cut(WarpLoops& state, Activation& activation, std::int64_t cut_at, std::int64_t left);
  void choose_places(Activation& activation, std::int64_t cut_at, std::size_t loop) const;
  static void note_iteration(const WarpLoops& state, Activation& activation);
  static bool differ(const Costs& counted, const Costs& seen);
  void set_looking(WarpLoops& state, Activation& activation, bool looking) const;
  static void read_integers(Warp& warp, const Loop& loop, std::vector<std::uint64_t>& values);
  static void find_steps(Warp& warp, const Loop& loop, Activation& activation);
  static void advance_integers(Warp& warp, const Loop& loop, const Activation& activation, std::int64_t iterations);

  const StaticCode* code_;
  std::vector<std::int64_t> cut_at_;  // by loop: from this iteration on weighted, for as many more; 0: not decided
  std::vector<WarpLoops> warps_;
  LoopBudget budget_;
  bool cut_any_ = false;
  bool gave_up_ = false;
  bool uneven_ = false;
};

}  // namespace kw
