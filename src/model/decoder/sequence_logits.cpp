#include "model/decoder/sequence_logits.h"

#include <numeric>

#include "model/decoder/cpu_pass.h"

namespace kw {

Result<std::vector<float>> sequence_logits(ThreadTeam& team, BaseWeights& base, const std::vector<Adapter>& adapters,
                                           std::span<const std::int32_t> tokens, std::int32_t adapter) {
  const ModelDescription& model = base.description();
  PackedBatch batch;
  batch.tokens.assign(tokens.begin(), tokens.end());
  batch.starts = {0, static_cast<std::int64_t>(tokens.size())};
  batch.adapter = {adapter};
  batch.scored.resize(tokens.size());
  BatchPlan plan;
  const BatchLimits limits{model.vocabulary, model.vocabulary, model.context,
                           static_cast<std::int64_t>(adapters.size())};
  KW_TRY_VOID(plan_batch(batch, limits, plan));
  const std::int64_t rows = plan.rows();
  // Every row goes through the last block, whether or not anything is scored there.
  plan.scored_rows.resize(tokens.size());
  std::iota(plan.scored_rows.begin(), plan.scored_rows.end(), std::int64_t{0});
  plan.scored_runs = plan.runs;

  std::vector<float> x(static_cast<std::size_t>(rows * model.hidden)), next(x.size());
  CpuBlocks blocks(team, base, adapters);
  BlockActivations activations;
  blocks.prepare(plan);
  base.embed(team, plan.tokens, x.data());
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    blocks.run(plan, layer, x.data(), activations, next.data());
    std::swap(x, next);
  }
  rms_norm(team, rows, model.hidden, x.data(), base.vector(base.layout().final_norm),
           static_cast<float>(model.rms_epsilon), next.data(), nullptr);
  std::vector<float> logits(static_cast<std::size_t>(rows * model.vocabulary));
  base.project_output(team, {next.data(), model.hidden, logits.data(), model.vocabulary, rows});
  return logits;
}

}  // namespace kw
