#pragma once
// What a run of reinforcement learning can be told. Plain data; defaults are those of the literature.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "agents/episode/turn_policy.h"
#include "agents/reward/turn_credit.h"
#include "learn/losses/kl.h"
#include "learn/losses/policy_loss.h"
#include "learn/rl/guard.h"

namespace kw {

class Communicator;

enum class Algorithm : std::uint8_t { grpo, dr_grpo, rloo, dapo, ppo };
std::string_view to_string(Algorithm algorithm);
Result<Algorithm> algorithm_from(std::string_view name);

enum class CreditRule : std::uint8_t {
  final_share,    // 0.3 of a turn's own reward, 0.7 of the conversation's outcome, less for earlier turns
  later,          // the turn's reward and the discounted ones of later turns
  leave_one_out,  // the same, against the mean of the other conversations about the task, whatever the algorithm
};
std::string_view to_string(CreditRule rule);  // "final", "later", "leave_one_out"
Result<CreditRule> credit_rule_from(std::string_view name);

struct CreditOptions {
  CreditRule rule = CreditRule::later;
  FinalCredit final_share;
  double discount = 0.4;  // of later turns
  RewardShape outcome;    // final_share: what the conversation's best kernel is worth; without a role
  // Answers longer than answer_tokens - buffer lose up to `overlong_penalty`; 0: never.
  std::int64_t overlong_buffer = 0;
  double overlong_penalty = 1;
};

// How the answers of a step move the weights.
struct UpdateOptions {
  ClipOptions clip;
  LossMean mean = LossMean::tokens;
  // Dr.GRPO: sums over an answer's tokens are divided by a constant, the longest answer, instead of its length. 0: no.
  double token_scale = 0;
  int epochs = 1;
  int mini_batches = 1;              // optimizer steps of an epoch
  std::int64_t pass_tokens = 16384;  // of one forward and backward
  float temperature = 1;             // the sampler's
  double entropy_bonus = 0;
  KlEstimator kl_estimator = KlEstimator::k3;
  double most_importance = 2;
  // PPO.
  double gamma = 1, lambda = 0.95, value_clip = 0.5;
};

struct ReinforceOptions {
  Algorithm algorithm = Algorithm::grpo;
  std::int64_t steps = 0;
  double minutes = 0;       // instead of steps; exams are not counted
  std::int64_t tasks = 16;  // of a step
  std::int64_t group = 8;   // conversations about each
  int refills = 0;          // DAPO: further draws for tasks that taught nothing
  // Conversations of so many steps are held before the weights that learn from them are there (rollout_ahead.h).
  // 0: they are held one after the other, by the newest weights.
  std::int64_t ahead = 0;
  EpisodeOptions episode;  // one sample a turn; no top_k and top_p: the log-probabilities would not be the policy's
  CreditOptions credit;
  UpdateOptions update;
  double learning_rate = 1e-5;
  std::int64_t warm_up_steps = 5;
  double last_share = 1;  // of the learning rate, at the last of `steps`
  double critic_learning_rate = 1e-4;
  std::int64_t critic_warm_up = 0;  // steps in which the critic alone learns
  AdaptiveKl kl{.coefficient = 0};
  bool adaptive_kl = false;
  GuardOptions guard;

  std::uint64_t seed = 1;
  std::size_t in_flight = 256;
  int judge_workers = 0;
  double evaluations = 1;                // spread over the run, the last one at its end; and one before it; 0: none
  std::int64_t checkpoint_every = 10;    // steps
  std::filesystem::path conversations;   // folder of their stores, one a step; empty: not stored
  std::int64_t keep_conversations = 10;  // of every so many steps, for people to read; 0: none
  std::string start;                     // identifies the weights that it starts from
  // Ranks share a step's conversations and its slots; rank 0 logs, examines and saves. Null: this process is alone.
  Communicator* ranks = nullptr;
  std::int64_t slots = 0;  // as SupervisedOptions has them
};

inline constexpr std::int64_t most_ahead = 4;  // steps

// With what belongs to the algorithm: DAPO's clip and refills, Dr.GRPO's mean ...
ReinforceOptions reinforce_options(Algorithm algorithm);
Result<void> check_options(const ReinforceOptions& options);

}  // namespace kw
