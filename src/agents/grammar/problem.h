#pragma once
// A problem: what is to be computed, before names of kernels, sizes and style matter. A task is made from it, and
// kernels at several levels of optimisation are written for it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/grammar/scalar_expression.h"
#include "kernel/task/task.h"

namespace kw {

enum class Family : std::uint8_t {
  elementwise,
  broadcast,
  reduce_last,
  reduce_first,
  reduce_middle,
  reduce_all,
  arg_reduce,
  logsumexp,
  softmax,
  log_softmax,
  causal_softmax,
  layer_norm,
  rms_norm,
  l2_normalize,
  transpose,
  permute,
  cumsum,
  cummax,
  exclusive_cumsum,
  gather_rows,
  take_along,
  scatter_add,
  max_pool1d,
  max_pool2d,
  avg_pool1d,
  avg_pool2d,
  conv1d,
  conv2d,
  depthwise_conv2d,
  matmul,
  matmul_nt,
  matmul_tn,
  batched_matmul,
  matvec,
  attention_scores,
  attention_values,
};
inline constexpr int family_count = static_cast<int>(Family::attention_values) + 1;
std::string_view name_of(Family family);

// Families that are drawn alike.
enum class FamilyKind : std::uint8_t { elementwise, broadcast, reduction, row_norm, movement, scan, window, product };
FamilyKind kind_of(Family family);
std::optional<Family> family_from_name(std::string_view name);

// What a kernel makes use of; higher ones are meant to be faster.
enum class Level : std::uint8_t {
  naive,       // one thread an output element or row
  coalesced,   // threads of a warp side by side in memory; grid-stride loops
  unrolled,    // several independent elements a thread
  shared,      // tiles or partial results in shared memory
  warp,        // shuffles, one warp a row
  vectorised,  // 8 or 16 bytes an access
  blocked,     // several results a thread in registers
  tensor,      // tensor cores
};
inline constexpr int level_count = static_cast<int>(Level::tensor) + 1;
std::string_view name_of(Level level);
std::optional<Level> level_from_name(std::string_view name);
std::vector<std::string> all_level_names();
// How a person asks for it: "a grid-stride loop with coalesced accesses".
std::string_view description_of(Level level);

enum class Reduction : std::uint8_t { sum, mean, maximum, minimum, variance, norm1, norm2, mean_square };
std::string_view name_of(Reduction reduction);

struct Operand {
  std::string name;
  std::string label = "full";  // its place in the structure: full, row, column, channel, scalar, or a role such as left
  std::string torch;           // how an expression refers to it: "bias.unsqueeze(1)"
  Dtype dtype = Dtype::float32;
  std::vector<std::string> shape;  // empty: a scalar by value
  Values values = NormalValues{};

  bool is_scalar() const { return shape.empty(); }
};

// Which values a size may take.
struct DimRange {
  int small_low = 1, small_high = 64;
  std::vector<int> train;
};

struct Problem {
  Family family = Family::elementwise;
  Dtype dtype = Dtype::float32;
  std::vector<Operand> operands;
  std::string output = "y";
  Dtype output_dtype = Dtype::float32;
  std::vector<std::string> output_shape;
  std::vector<std::string> dims;  // size names by role: rows, cols; m, n, k ...

  // pre is applied to what is read, post to what the core operation gives. Operand number operands.size() of post is
  // that result.
  ScalarExpression pre;
  ScalarExpression post;
  Reduction reduction = Reduction::sum;
  bool largest = true;           // arg_reduce: the largest, not the smallest
  std::vector<int> permutation;  // permute: output dimension i is input dimension permutation[i]
  int window = 0, stride = 1, padding = 0;
  bool causal = false;

  std::string torch_body;        // PyTorch lines that end in a return
  std::vector<DimRange> ranges;  // by dims
  std::string summary;           // one sentence
  int tier = 0;

  int result_index() const { return static_cast<int>(operands.size()); }
  bool integer() const { return dtype == Dtype::int32; }
};

// The same for problems that differ in names, sizes, constants, element types and order of commutative operands only.
std::string structure_of(const Problem& problem);

// The size names in the order of the launcher's parameters.
std::vector<std::string> size_order(const Problem& problem);

// A task that asks for it, at random sizes. Sizes held out are multiples of `held_out_factor`, all others are not.
inline constexpr int held_out_factor = 13;
Task make_task(const Problem& problem, const std::string& name, Random& random);

// Levels at which kernels are written for it, naive first.
std::vector<Level> levels_of(const Problem& problem);

}  // namespace kw
