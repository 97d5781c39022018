#pragma once
// How much better than expected was it? Rewards and scores become one number for each token or answer. Definitions are
// VERL's (verl/trainer/ppo/core_algos.py), which tests compare with. Pure functions over flat arrays.

#include <cstdint>
#include <span>
#include <vector>

namespace kw {

// Answers one after the other; answer i has the tokens starts[i] .. starts[i + 1].
using Starts = std::span<const std::int64_t>;

struct TokenAdvantages {
  std::vector<double> advantages;
  std::vector<double> returns;
};

// Generalised advantage estimation (arXiv 1506.02438). Tokens that the policy did not write (mask 0: prompts of later
// turns, feedback) are skipped: neither their values nor an error at them count. Not whitened.
TokenAdvantages generalised_advantages(std::span<const double> rewards, std::span<const double> values,
                                       std::span<const std::uint8_t> mask, Starts starts, double gamma = 1,
                                       double lambda = 0.95);

// Mean 0 and variance 1 over the tokens that count (unbiased variance, 1e-8 under the root). Fewer than two: as they
// are.
void whiten(std::span<double> values, std::span<const std::uint8_t> mask);

enum class GroupBaseline {
  grpo,          // (score - mean) / (standard deviation + 1e-6), arXiv 2402.03300
  dr_grpo,       // score - mean, arXiv 2503.20783
  leave_one_out  // n / (n - 1) * (score - mean), RLOO, arXiv 2402.14740
};

// One for each answer. `group` says which answers belong together (same task, same role). An answer alone in its group
// has nothing to be compared with: its advantage is its score, as in VERL.
std::vector<double> group_advantages(std::span<const double> scores, std::span<const std::int64_t> group,
                                     GroupBaseline baseline);

// DAPO's dynamic sampling (arXiv 2503.14476): answers whose group has both better and worse ones. Others teach nothing.
std::vector<std::uint8_t> groups_with_contrast(std::span<const double> scores, std::span<const std::int64_t> group);

// DAPO's soft punishment of over-long answers: 0 up to most - buffer generated tokens, then falling to -penalty at
// most.
double overlong_penalty(std::int64_t generated_tokens, std::int64_t most_tokens, std::int64_t buffer_tokens,
                        double penalty = 1);

}  // namespace kw
