#pragma once
// From answers to weights: scores under the current, the frozen and the critic's weights, losses, gradients, optimizer
// steps. Denominators are those of a whole mini-batch, however many passes, slots and ranks it takes.

#include <functional>

#include "learn/rl/experience.h"
#include "model/decoder/training.h"

namespace kw {

struct UpdateInputs {
  Trainer& policy;
  Trainer* reference = nullptr;  // the policy as it started; needed when kl_coefficient is above 0
  Trainer* critic = nullptr;     // a trainer with a value head of its own; PPO
  std::function<std::int32_t(AgentRole)> adapter_of;
  const ModelDescription* model = nullptr;  // of all three; null: nobody wants to know how much work it was
  bool train_base = true;                   // false: adapters alone
  double learning_rate = 0;
  double critic_learning_rate = 0;
  double kl_coefficient = 0;
  bool move_policy = true;  // false: the critic alone learns
  std::uint64_t seed = 0;   // of the order of answers
  // Each rank has all answers, and learns from those of its slots. The report is that of all.
  Communicator* ranks = nullptr;
  std::int64_t slots = 1;
};

struct Spread {
  double mean = 0, least = 0, most = 0;
};

struct UpdateReport {
  // Means over tokens, or over the optimizer's steps.
  double loss = 0;  // policy, KL and entropy together
  double policy_loss = 0;
  double clipped = 0, clipped_dual = 0;
  double kl_old = 0;  // from the weights before the update, mean of old - new log-probability
  double entropy = 0;
  double gradient_norm = 0;
  double learning_rate = 0;
  std::optional<double> kl_reference;
  double mismatch_kl = 0;    // sampler against trainer, k3: 0 when they agree to the last bit
  double mismatch_most = 0;  // |difference| of a log-probability
  double importance = 1;     // mean weight
  // Share of tokens whose weight was cut, and how many tokens of equal weight would say as much as these, as a share.
  double importance_cut = 0, importance_effective = 1;
  double value_loss = 0, value_clipped = 0, critic_gradient_norm = 0;
  Spread advantages, returns, values;                        // of tokens
  std::int64_t answers = 0, tokens = 0, trained_tokens = 0;  // of `trained`, prompts and repeats included
  double flops = 0;  // operations of the models' products, all three models; 0 where `model` was not given
  int optimizer_steps = 0;
  int skipped_steps = 0;
};

// Nothing happens when no answer teaches. After an error the weights may have moved.
Result<UpdateReport> update_policy(const UpdateInputs& inputs, const std::vector<ExperiencedAnswer>& answers,
                                   const UpdateOptions& options);

// Answers one after the other, with their prompts; the answers' tokens alone are scored.
struct AnswerPass {
  PackedBatch batch;
  std::vector<std::size_t> answers;
};
std::vector<AnswerPass> pack_answers(const std::vector<ExperiencedAnswer>& answers, std::span<const std::size_t> which,
                                     const std::function<std::int32_t(AgentRole)>& adapter_of,
                                     const UpdateOptions& options);

}  // namespace kw
