#include "model/decoder/cpu_head.h"

#include <algorithm>

namespace kw {
namespace {

template <class Body>
void for_rows(ThreadTeam& team, std::int64_t rows, const Body& body) {
  constexpr std::int64_t rows_in_part = 8;
  team.run((rows + rows_in_part - 1) / rows_in_part, [&](std::int64_t part) {
    const std::int64_t end = std::min(rows, (part + 1) * rows_in_part);
    for (std::int64_t row = part * rows_in_part; row < end; ++row) body(row);
  });
}

}  // namespace

CpuHead::CpuHead(ThreadTeam& team, BaseWeights& base, std::span<const float> value_head, const TrainingOptions& options)
    : team_(team),
      base_(base),
      value_head_(value_head),
      chunk_(std::max<std::int64_t>(1, options.logits_chunk)),
      kept_floats_(options.kept_logits_bytes / static_cast<std::int64_t>(sizeof(float))),
      vocabulary_(base.description().vocabulary),
      hidden_(base.description().hidden) {
  usable_ = options.usable_vocabulary > 0 ? std::min(options.usable_vocabulary, vocabulary_) : vocabulary_;
}

void CpuHead::restrict_row(const BatchPlan& plan, std::size_t at, float* logits) const {
  if (!plan.scored_masks.empty() && plan.scored_masks[at] != nullptr) plan.scored_masks[at]->apply(logits, usable_);
}

void CpuHead::score(CpuPass& pass, bool keep, TokenScores& scores) {
  const BatchPlan& plan = pass.plan;
  const std::int64_t count = plan.scored();
  const auto size = static_cast<std::size_t>(count);
  scores.log_prob.resize(size);
  scores.entropy.resize(size);
  scores.value.resize(value_head_.empty() ? 0 : size);
  pass.scores.resize(size);
  pass.kept_logits = 0;
  if (count == 0) return;

  float* norm = pass.scored_norm.reserve(count * hidden_);
  rms_norm(team_, count, hidden_, pass.scored_stream.data(), base_.vector(base_.layout().final_norm),
           static_cast<float>(base_.description().rms_epsilon), norm, pass.scored_inverse.reserve(count));

  if (keep) pass.kept_logits = std::min(count, kept_floats_ / vocabulary_);
  float* kept = pass.logits.reserve(pass.kept_logits * vocabulary_);
  for (std::int64_t begin = 0; begin < count;) {
    const bool is_kept = begin < pass.kept_logits;
    const std::int64_t end = std::min(begin + chunk_, is_kept ? pass.kept_logits : count);
    float* logits = is_kept ? kept + begin * vocabulary_ : logits_.reserve(std::min(chunk_, count) * vocabulary_);
    base_.project_output(team_, {norm + begin * hidden_, hidden_, logits, vocabulary_, end - begin});
    for_rows(team_, end - begin, [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(begin + i);
      restrict_row(plan, at, logits + i * vocabulary_);
      pass.scores[at] =
          score_token(logits + i * vocabulary_, usable_, plan.inverse_temperature, plan.scored_tokens[at]);
    });
    begin = end;
  }
  for (std::size_t i = 0; i < size; ++i) {
    const auto place = static_cast<std::size_t>(plan.scored_places[i]);
    scores.log_prob[place] = pass.scores[i].log_prob;
    scores.entropy[place] = pass.scores[i].entropy;
  }
  if (value_head_.empty()) return;
  float* values = values_.reserve(count);
  linear(team_, {norm, hidden_, values, 1, count}, value_head_.data(), 1, hidden_, value_head_.data() + hidden_);
  for (std::size_t i = 0; i < size; ++i) scores.value[static_cast<std::size_t>(plan.scored_places[i])] = values[i];
}

void CpuHead::gradient(CpuPass& pass, const ScoreGradients& from, float* d_stream, float* base_gradient,
                       float* value_gradient) {
  const BatchPlan& plan = pass.plan;
  const std::int64_t count = plan.scored();
  if (count == 0) return;
  const float* norm = pass.scored_norm.data();
  float* d_norm = d_norm_.reserve(count * hidden_);
  // When nothing below the head learns, only the value head needs anything.
  if (d_stream != nullptr) {
    for (std::int64_t begin = 0; begin < count;) {
      const bool is_kept = begin < pass.kept_logits;
      const std::int64_t end = std::min(begin + chunk_, is_kept ? pass.kept_logits : count);
      float* logits =
          is_kept ? pass.logits.data() + begin * vocabulary_ : logits_.reserve(std::min(chunk_, count) * vocabulary_);
      if (!is_kept) base_.project_output(team_, {norm + begin * hidden_, hidden_, logits, vocabulary_, end - begin});
      for_rows(team_, end - begin, [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(begin + i);
        if (!is_kept) restrict_row(plan, at, logits + i * vocabulary_);
        const auto place = static_cast<std::size_t>(plan.scored_places[at]);
        score_token_gradient(logits + i * vocabulary_, usable_, vocabulary_, plan.inverse_temperature,
                             plan.scored_tokens[at], pass.scores[at], from.log_prob[place],
                             from.entropy.empty() ? 0.0f : from.entropy[place]);
      });
      base_.output_gradient(team_, end - begin, logits, d_norm + begin * hidden_);
      if (base_gradient != nullptr) {
        linear_weight_gradient(team_, end - begin, logits, norm + begin * hidden_, vocabulary_, hidden_,
                               base_gradient + base_.layout().output, nullptr);
      }
      begin = end;
    }
  }
  if (!value_head_.empty() && !from.value.empty()) {
    float* d_values = values_.reserve(count);
    for (std::int64_t i = 0; i < count; ++i) {
      d_values[i] = from.value[static_cast<std::size_t>(plan.scored_places[static_cast<std::size_t>(i)])];
    }
    linear_weight_gradient(team_, count, d_values, norm, 1, hidden_, value_gradient, value_gradient + hidden_);
    if (d_stream != nullptr) {
      linear_input_gradient(team_, count, d_values, value_head_.data(), 1, hidden_, d_norm, true);
    }
  }
  if (d_stream == nullptr) return;
  std::fill_n(d_stream, count * hidden_, 0.0f);
  rms_norm_gradient(team_, count, hidden_, pass.scored_stream.data(), base_.vector(base_.layout().final_norm),
                    pass.scored_inverse.data(), d_norm, d_stream,
                    base_gradient == nullptr ? nullptr : base_gradient + base_.layout().final_norm);
}

}  // namespace kw
