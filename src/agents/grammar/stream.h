#pragma once
// An endless stream of tasks and kernels. Example i of a seed is a pure function of (seed, split, i): it can be made
// again anywhere, in any order. Nothing is judged here.

#include <cstdint>
#include <string>
#include <vector>

#include "agents/grammar/held_out.h"
#include "agents/grammar/problem.h"

namespace kw {

struct StreamOptions {
  std::uint64_t seed = 0;
  DataSplit split = DataSplit::train;  // train, composition or novel
  std::vector<Family> families;        // empty: all that the split has
  bool naive_too = false;              // also the naive kernel, as the task's baseline
};

// A problem and the task that asks for it.
struct DrawnTask {
  std::uint64_t index = 0;
  Problem problem;
  Task task;
  std::string structure;
};

struct Example {
  DrawnTask drawn;
  Level level = Level::naive;
  std::string kernel;  // CUDA text
};

inline constexpr std::uint64_t house_style = 0;
// The house style, but expressions as the task writes them (Style::formulas): from nothing it is learned soonest.
inline constexpr std::uint64_t formula_style = 64;

class ExampleStream {
 public:
  explicit ExampleStream(StreamOptions options);

  DrawnTask task_at(std::uint64_t index) const;
  // A kernel at a random level.
  Example example_at(std::uint64_t index) const;
  // A kernel for a drawn task: the same text for the same (level, variant). Variant house_style is written the way most
  // are, without chance; small models learn it first.
  std::string kernel_for(const DrawnTask& drawn, Level level, std::uint64_t variant) const;

  const StreamOptions& options() const { return options_; }

 private:
  StreamOptions options_;
  std::vector<Family> families_;  // each as often as its weight
};

}  // namespace kw
