#pragma once
// From the rows that predict scored tokens to scores and back: final norm, output weights, log-probability and entropy,
// value head. Logits of a few rows exist at a time.

#include <cstdint>
#include <span>

#include "model/decoder/cpu_pass.h"
#include "model/decoder/training.h"

namespace kw {

class CpuHead {
 public:
  // value_head: (hidden) weights and a bias, or empty.
  CpuHead(ThreadTeam& team, BaseWeights& base, std::span<const float> value_head, const TrainingOptions& options);

  // Of pass.scored_stream. `keep`: leaves in the pass what gradient() needs.
  void score(CpuPass& pass, bool keep, TokenScores& scores);
  // d_stream (scored, hidden) is written, unless null. `value_gradient` like value_head, added to.
  void gradient(CpuPass& pass, const ScoreGradients& from, float* d_stream, float* base_gradient,
                float* value_gradient);

 private:
  // Leaves to a row of logits the tokens that its token was chosen from.
  void restrict_row(const BatchPlan& plan, std::size_t at, float* logits) const;

  ThreadTeam& team_;
  BaseWeights& base_;
  std::span<const float> value_head_;
  std::int64_t chunk_, kept_floats_, usable_, vocabulary_, hidden_;
  FloatBuffer logits_;  // (chunk, vocabulary)
  FloatBuffer values_, d_norm_;
};

}  // namespace kw
