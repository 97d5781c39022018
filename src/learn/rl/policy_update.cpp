#include "learn/rl/policy_update.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/random.h"
#include "model/decoder/pass_work.h"
#include "model/distributed/slots.h"

namespace kw {
namespace {

// What is known of an answer's tokens before the first step.
struct TokenFacts {
  std::vector<float> old_log_prob;  // empty: what forward() says in the only step
  std::vector<float> reference_log_prob;
  std::vector<float> old_value;
  std::vector<double> advantage;
  std::vector<double> returns;
};

template <class Values>
Spread spread_of(const std::vector<TokenFacts>& facts, std::span<const std::size_t> which, Values values) {
  Spread spread;
  double sum = 0, count = 0;
  for (const std::size_t i : which)
    for (const double value : values(facts[i])) {
      spread.least = count == 0 ? value : std::min(spread.least, value);
      spread.most = count == 0 ? value : std::max(spread.most, value);
      sum += value;
      ++count;
    }
  spread.mean = sum / std::max(count, 1.0);
  return spread;
}

// What passes come to, summed up by slot: so the sums do not depend on who made them.
struct PassSums {
  double tokens = 0, entropy = 0, importance = 0, mismatch = 0, kl_reference = 0;
  double loss = 0, policy_loss = 0, clipped = 0, clipped_dual = 0, kl_old = 0;
  double value_loss = 0, value_clipped = 0, value_tokens = 0;
  double trained_tokens = 0, flops = 0;
  double importance_squares = 0, importance_cut = 0;
  double mismatch_most = 0;  // not a sum: the largest

  void add(const PassSums& other);
};

constexpr double PassSums::*summed[] = {
    &PassSums::tokens,        &PassSums::entropy,        &PassSums::importance,  &PassSums::mismatch,
    &PassSums::kl_reference,  &PassSums::loss,           &PassSums::policy_loss, &PassSums::clipped,
    &PassSums::clipped_dual,  &PassSums::kl_old,         &PassSums::value_loss,  &PassSums::value_clipped,
    &PassSums::value_tokens,  &PassSums::trained_tokens, &PassSums::flops,       &PassSums::importance_squares,
    &PassSums::importance_cut};

void PassSums::add(const PassSums& other) {
  for (double PassSums::*sum : summed) this->*sum += other.*sum;
  mismatch_most = std::max(mismatch_most, other.mismatch_most);
}

constexpr std::uint64_t longest_scores = std::uint64_t{1} << 32;  // bytes of one rank's

class PolicyUpdate {
 public:
  PolicyUpdate(const UpdateInputs& inputs, const std::vector<ExperiencedAnswer>& answers, const UpdateOptions& options)
      : inputs_(inputs), answers_(answers), options_(options), facts_(answers.size()) {
    for (std::size_t i = 0; i < answers.size(); ++i)
      if (answers[i].teaches) teaching_.push_back(i);
  }

  Result<UpdateReport> run() {
    if (teaching_.empty()) return report_;
    KW_TRY_VOID(look_before());
    for (int epoch = 0; epoch < options_.epochs; ++epoch) {
      const std::vector<std::size_t> order = shuffled(epoch);
      const auto parts = std::min<std::size_t>(static_cast<std::size_t>(options_.mini_batches), order.size());
      for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t first = order.size() * part / parts, end = order.size() * (part + 1) / parts;
        KW_TRY_VOID(mini_batch(std::span(order).subspan(first, end - first)));
      }
    }
    finish_report();
    return report_;
  }

 private:
  struct SlotPass {
    std::int64_t slot = 0;
    AnswerPass pass;
  };

  // Answers that lie side by side share a slot, by the tokens that they take; a pass is of one slot.
  std::vector<SlotPass> passes_of(std::span<const std::size_t> which) const {
    const auto length = [&](std::size_t i) {
      return static_cast<std::int64_t>(answers_[i].prompt.size() + answers_[i].tokens.size());
    };
    std::int64_t all = 0;
    for (const std::size_t i : which) all += length(i);
    std::vector<SlotPass> passes;
    std::int64_t before = 0;
    for (std::size_t first = 0; first < which.size();) {
      const std::int64_t slot = slot_at(before, all, inputs_.slots);
      std::size_t end = first;
      for (; end < which.size() && slot_at(before, all, inputs_.slots) == slot; ++end) before += length(which[end]);
      for (AnswerPass& pass : pack_answers(answers_, which.subspan(first, end - first), inputs_.adapter_of, options_))
        passes.push_back({slot, std::move(pass)});
      first = end;
    }
    return passes;
  }

  ShareRange own_slots() const { return kw::own_slots(inputs_.slots, inputs_.ranks); }

  bool one_step() const { return options_.epochs * options_.mini_batches == 1; }

  // One number a token of all answers by one model, on every rank; `take` gets them answer by answer.
  template <class Take>
  Result<void> score_all(Trainer& trainer, std::vector<float> TokenScores::*wanted, const Take& take) {
    const std::vector<SlotPass> passes = passes_of(teaching_);
    std::vector<std::string> scored;
    const ShareRange own = own_slots();
    for (std::int64_t slot = own.begin; slot < own.end; ++slot) {
      scored.emplace_back();
      for (const SlotPass& each : passes) {
        if (each.slot != slot) continue;
        KW_TRY(const TokenScores scores, trainer.score(each.pass.batch));
        const std::vector<float>& values = scores.*wanted;
        scored.back().append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
      }
    }
    KW_TRY(scored, share_slots(inputs_.ranks, inputs_.slots, std::move(scored), longest_scores));
    std::vector<std::size_t> at(scored.size());
    for (const auto& [slot, pass] : passes) {
      if (inputs_.model != nullptr) report_.flops += forward_flops(*inputs_.model, pass.batch);
      const std::string& bytes = scored[static_cast<std::size_t>(slot)];
      for (const std::size_t i : pass.answers) {
        std::vector<float> values(answers_[i].tokens.size());
        std::size_t& from = at[static_cast<std::size_t>(slot)];
        const std::size_t size = values.size() * sizeof(float);
        if (from + size > bytes.size()) return Error{"a rank has scored other answers than this one", "", {}};
        std::memcpy(values.data(), bytes.data() + from, size);
        from += size;
        take(facts_[i], std::move(values));
      }
    }
    return {};
  }

  Result<void> look_before() {
    // In the only step of an update, forward() sees the weights that sampled.
    if (!one_step() || inputs_.critic != nullptr) {
      KW_TRY_VOID(score_all(inputs_.policy, &TokenScores::log_prob, [](TokenFacts& facts, std::vector<float> values) {
        facts.old_log_prob = std::move(values);
      }));
    }
    if (inputs_.kl_coefficient > 0) {
      if (inputs_.reference == nullptr) return Error{"KL needs the frozen start", "", {}};
      KW_TRY_VOID(score_all(
          *inputs_.reference, &TokenScores::log_prob,
          [](TokenFacts& facts, std::vector<float> values) { facts.reference_log_prob = std::move(values); }));
    }
    if (inputs_.critic != nullptr) return estimate_advantages();
    for (const std::size_t i : teaching_) facts_[i].advantage.assign(answers_[i].tokens.size(), answers_[i].advantage);
    return {};
  }

  // The reward sits on the last token that was generated.
  Result<void> estimate_advantages() {
    KW_TRY_VOID(score_all(*inputs_.critic, &TokenScores::value,
                          [](TokenFacts& facts, std::vector<float> values) { facts.old_value = std::move(values); }));
    std::vector<double> rewards, values;
    std::vector<std::int64_t> starts{0};
    for (const std::size_t i : teaching_) {
      values.insert(values.end(), facts_[i].old_value.begin(), facts_[i].old_value.end());
      rewards.resize(values.size(), 0);
      rewards.back() = answers_[i].score;
      starts.push_back(static_cast<std::int64_t>(values.size()));
    }
    const std::vector<std::uint8_t> mask(values.size(), 1);
    TokenAdvantages made = generalised_advantages(rewards, values, mask, starts, options_.gamma, options_.lambda);
    whiten(made.advantages, mask);
    for (std::size_t n = 0; n < teaching_.size(); ++n) {
      TokenFacts& facts = facts_[teaching_[n]];
      facts.advantage.assign(made.advantages.begin() + starts[n], made.advantages.begin() + starts[n + 1]);
      facts.returns.assign(made.returns.begin() + starts[n], made.returns.begin() + starts[n + 1]);
    }
    return {};
  }

  std::vector<std::size_t> shuffled(int epoch) const {
    std::vector<std::size_t> order = teaching_;
    if (options_.mini_batches == 1) return order;
    Random random(inputs_.seed, static_cast<std::uint64_t>(epoch));
    for (std::size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i)))]);
    return order;
  }

  // Everything that the losses want of one pass, token by token.
  struct PassTokens {
    std::vector<float> sampled, old, reference, old_value;
    std::vector<double> advantage, returns;
    std::vector<std::int64_t> starts{0};
  };

  PassTokens tokens_of(const AnswerPass& pass) const {
    PassTokens tokens;
    const auto add = [](auto& into, const auto& from) { into.insert(into.end(), from.begin(), from.end()); };
    for (const std::size_t i : pass.answers) {
      const TokenFacts& facts = facts_[i];
      add(tokens.sampled, answers_[i].sampled_log_probs);
      add(tokens.old, facts.old_log_prob);
      add(tokens.reference, facts.reference_log_prob);
      add(tokens.old_value, facts.old_value);
      add(tokens.advantage, facts.advantage);
      add(tokens.returns, facts.returns);
      tokens.starts.push_back(static_cast<std::int64_t>(tokens.sampled.size()));
    }
    return tokens;
  }

  Result<void> mini_batch(std::span<const std::size_t> which) {
    std::int64_t all_tokens = 0;
    for (const std::size_t i : which) all_tokens += static_cast<std::int64_t>(answers_[i].tokens.size());
    const auto all_answers = static_cast<std::int64_t>(which.size());
    const std::vector<SlotPass> passes = passes_of(which);
    std::vector<std::string> sums;
    const ShareRange own = own_slots();
    const SlotPass* last = nullptr;
    for (const SlotPass& each : passes)
      if (each.slot >= own.begin && each.slot < own.end) last = &each;
    for (std::int64_t slot = own.begin; slot < own.end; ++slot) {
      slot_ = {};
      for (const SlotPass& each : passes) {
        if (each.slot != slot) continue;
        if (&each == last) announce_last_pass();
        KW_TRY_VOID(learn_pass(each.pass, all_tokens, all_answers));
      }
      if (inputs_.slots > 1 && inputs_.move_policy) KW_TRY_VOID(inputs_.policy.end_slot(slot));
      if (inputs_.slots > 1 && inputs_.critic != nullptr) KW_TRY_VOID(inputs_.critic->end_slot(slot));
      sums.emplace_back(reinterpret_cast<const char*>(&slot_), sizeof slot_);
    }
    KW_TRY(sums, share_slots(inputs_.ranks, inputs_.slots, std::move(sums), longest_scores));
    for (const std::string& bytes : sums) {
      PassSums of_slot;
      if (bytes.size() != sizeof of_slot) return Error{"a rank has learned from other answers than this one", "", {}};
      std::memcpy(&of_slot, bytes.data(), sizeof of_slot);
      all_.add(of_slot);
    }
    ++report_.optimizer_steps;
    if (inputs_.move_policy) {
      KW_TRY(const StepReport moved, inputs_.policy.step(inputs_.learning_rate));
      report_.gradient_norm += moved.gradient_norm;
      report_.learning_rate = moved.learning_rate;
      report_.skipped_steps += moved.skipped;
    }
    if (inputs_.critic != nullptr) {
      KW_TRY(const StepReport moved, inputs_.critic->step(inputs_.critic_learning_rate));
      report_.critic_gradient_norm += moved.gradient_norm;
      report_.skipped_steps += moved.skipped;
    }
    return {};
  }

  // One model's gradients travel at a time: ranks without passes would send those of two in another order.
  void announce_last_pass() {
    if (inputs_.move_policy) {
      inputs_.policy.last_backward_follows();
    } else if (inputs_.critic != nullptr) {
      inputs_.critic->last_backward_follows();
    }
  }

  Result<void> learn_pass(const AnswerPass& pass, std::int64_t all_tokens, std::int64_t all_answers) {
    PassTokens tokens = tokens_of(pass);
    const std::vector<std::uint8_t> mask(tokens.sampled.size(), 1);
    std::vector<double> weights = token_weights(mask, tokens.starts, options_.mean, all_tokens, all_answers);
    if (options_.token_scale > 0)
      for (double& weight : weights) weight /= options_.token_scale;
    if (inputs_.move_policy) {
      KW_TRY_VOID(learn_policy(pass, tokens, mask, weights));
    } else {
      note_mismatch(tokens);
      slot_.tokens += static_cast<double>(mask.size());
    }
    if (inputs_.critic != nullptr) KW_TRY_VOID(learn_values(pass, tokens, mask, all_tokens));
    slot_.trained_tokens += static_cast<double>(pass.batch.tokens.size());
    const int trained = (inputs_.move_policy ? 1 : 0) + (inputs_.critic != nullptr ? 1 : 0);
    if (inputs_.model != nullptr)
      slot_.flops += trained * training_flops(*inputs_.model, pass.batch, inputs_.train_base);
    return {};
  }

  Result<void> learn_policy(const AnswerPass& pass, PassTokens& tokens, const std::vector<std::uint8_t>& mask,
                            const std::vector<double>& weights) {
    KW_TRY(const TokenScores scores, inputs_.policy.forward(pass.batch));
    if (tokens.old.empty()) tokens.old = scores.log_prob;
    const std::vector<double> importance = importance_weights(tokens.old, tokens.sampled, options_.most_importance);
    const PolicyLoss loss =
        policy_loss(scores.log_prob, tokens.old, tokens.advantage, mask, weights, options_.clip, importance);
    ScoreGradients gradients;
    gradients.log_prob.resize(scores.log_prob.size());
    if (options_.entropy_bonus != 0) gradients.entropy.resize(scores.log_prob.size());
    double all = loss.loss;
    for (std::size_t i = 0; i < scores.log_prob.size(); ++i) {
      double slope = loss.d_log_prob[i];
      if (!tokens.reference.empty()) {
        const KlTerm term = kl_term(options_.kl_estimator, scores.log_prob[i], tokens.reference[i]);
        slope += inputs_.kl_coefficient * weights[i] * term.d_log_prob;
        all += inputs_.kl_coefficient * weights[i] * term.value;
        slot_.kl_reference += term.value;
      }
      if (options_.entropy_bonus != 0) {
        gradients.entropy[i] = static_cast<float>(-options_.entropy_bonus * weights[i]);
        all -= options_.entropy_bonus * weights[i] * scores.entropy[i];
      }
      gradients.log_prob[i] = static_cast<float>(slope);
      slot_.entropy += scores.entropy[i];
      slot_.importance += importance[i];
      slot_.importance_squares += importance[i] * importance[i];
      slot_.importance_cut += importance[i] >= options_.most_importance;
    }
    note_mismatch(tokens);
    const auto count = static_cast<double>(scores.log_prob.size());
    slot_.tokens += count;
    slot_.loss += all;
    slot_.policy_loss += loss.loss;
    slot_.clipped += loss.clipped * count;
    slot_.clipped_dual += loss.clipped_dual * count;
    slot_.kl_old += loss.kl * count;
    return inputs_.policy.backward(gradients);
  }

  void note_mismatch(const PassTokens& tokens) {
    for (std::size_t i = 0; i < tokens.old.size(); ++i) {
      const double difference = static_cast<double>(tokens.old[i]) - tokens.sampled[i];
      slot_.mismatch += kl_term(KlEstimator::k3, tokens.sampled[i], tokens.old[i]).value;
      slot_.mismatch_most = std::max(slot_.mismatch_most, std::abs(difference));
    }
  }

  Result<void> learn_values(const AnswerPass& pass, const PassTokens& tokens, const std::vector<std::uint8_t>& mask,
                            std::int64_t all_tokens) {
    KW_TRY(const TokenScores scores, inputs_.critic->forward(pass.batch));
    const std::vector<double> weights = token_weights(mask, tokens.starts, LossMean::tokens, all_tokens, 1);
    const ValueLoss loss =
        value_loss(scores.value, tokens.old_value, tokens.returns, mask, weights, options_.value_clip);
    ScoreGradients gradients;
    gradients.log_prob.assign(scores.log_prob.size(), 0);
    gradients.value.assign(loss.d_value.begin(), loss.d_value.end());
    slot_.value_loss += loss.loss;
    slot_.value_clipped += loss.clipped * static_cast<double>(mask.size());
    slot_.value_tokens += static_cast<double>(mask.size());
    return inputs_.critic->backward(gradients);
  }

  void finish_report() {
    const double tokens = std::max(all_.tokens, 1.0), steps = std::max(report_.optimizer_steps, 1);
    report_.clipped = all_.clipped / tokens;
    report_.clipped_dual = all_.clipped_dual / tokens;
    report_.kl_old = all_.kl_old / tokens;
    report_.loss = all_.loss / steps;
    report_.policy_loss = all_.policy_loss / steps;
    report_.value_loss = all_.value_loss / steps;
    for (double* sum : {&report_.gradient_norm, &report_.critic_gradient_norm}) *sum /= steps;
    report_.entropy = all_.entropy / tokens;
    report_.mismatch_kl = all_.mismatch / tokens;
    report_.mismatch_most = all_.mismatch_most;
    if (all_.tokens > 0) report_.importance = all_.importance / tokens;
    if (all_.importance_squares > 0)
      report_.importance_effective = all_.importance * all_.importance / (tokens * all_.importance_squares);
    report_.importance_cut = all_.importance_cut / tokens;
    if (inputs_.kl_coefficient > 0 && all_.tokens > 0) report_.kl_reference = all_.kl_reference / tokens;
    report_.value_clipped = all_.value_clipped / std::max(all_.value_tokens, 1.0);
    report_.trained_tokens = std::llround(all_.trained_tokens);
    report_.flops += all_.flops;
    report_.answers = static_cast<std::int64_t>(teaching_.size());
    for (const std::size_t i : teaching_) report_.tokens += static_cast<std::int64_t>(answers_[i].tokens.size());
    report_.advantages = spread_of(facts_, teaching_, [](const TokenFacts& facts) { return facts.advantage; });
    report_.returns = spread_of(facts_, teaching_, [](const TokenFacts& facts) { return facts.returns; });
    report_.values = spread_of(facts_, teaching_, [](const TokenFacts& facts) { return facts.old_value; });
  }

  const UpdateInputs& inputs_;
  const std::vector<ExperiencedAnswer>& answers_;
  const UpdateOptions& options_;
  std::vector<TokenFacts> facts_;  // by answer
  std::vector<std::size_t> teaching_;
  UpdateReport report_;
  PassSums slot_;  // of the slot that is being learned from
  PassSums all_;   // of all slots of all mini-batches
};

}  // namespace

std::vector<AnswerPass> pack_answers(const std::vector<ExperiencedAnswer>& answers, std::span<const std::size_t> which,
                                     const std::function<std::int32_t(AgentRole)>& adapter_of,
                                     const UpdateOptions& options) {
  std::vector<AnswerPass> passes;
  for (const std::size_t i : which) {
    const ExperiencedAnswer& answer = answers[i];
    const auto length = static_cast<std::int64_t>(answer.prompt.size() + answer.tokens.size());
    if (passes.empty() || passes.back().batch.starts.back() + length > options.pass_tokens) {
      passes.emplace_back();
      passes.back().batch.starts = {0};
      passes.back().batch.temperature = options.temperature;
    }
    PackedBatch& batch = passes.back().batch;
    batch.tokens.insert(batch.tokens.end(), answer.prompt.begin(), answer.prompt.end());
    batch.tokens.insert(batch.tokens.end(), answer.tokens.begin(), answer.tokens.end());
    batch.scored.insert(batch.scored.end(), answer.prompt.size(), 0);
    batch.scored.insert(batch.scored.end(), answer.tokens.size(), 1);
    if (!answer.allowed.empty()) {
      batch.allowed.resize(batch.tokens.size() - answer.tokens.size(), nullptr);
      batch.allowed.insert(batch.allowed.end(), answer.allowed.begin(), answer.allowed.end());
    } else if (!batch.allowed.empty()) {
      batch.allowed.resize(batch.tokens.size(), nullptr);
    }
    batch.starts.push_back(static_cast<std::int64_t>(batch.tokens.size()));
    batch.adapter.push_back(adapter_of(answer.role));
    passes.back().answers.push_back(i);
  }
  return passes;
}

Result<UpdateReport> update_policy(const UpdateInputs& inputs, const std::vector<ExperiencedAnswer>& answers,
                                   const UpdateOptions& options) {
  return PolicyUpdate(inputs, answers, options).run();
}

}  // namespace kw
