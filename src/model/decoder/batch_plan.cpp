#include "model/decoder/batch_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kw {
namespace {

Error refused(const std::string& what) { return Error{"the batch cannot be computed: " + what, "", {}}; }

Result<void> check_batch(const PackedBatch& batch, const BatchLimits& limits) {
  const auto tokens = static_cast<std::int64_t>(batch.tokens.size());
  if (batch.starts.size() < 2 || batch.starts.front() != 0 || batch.starts.back() != tokens) {
    return refused("the starts of its sequences do not span its tokens");
  }
  const std::size_t sequences = batch.starts.size() - 1;
  for (std::size_t s = 0; s < sequences; ++s) {
    const std::int64_t length = batch.starts[s + 1] - batch.starts[s];
    if (length < 1) return refused("sequence " + std::to_string(s) + " has no tokens");
    if (length > limits.context) {
      return refused("sequence " + std::to_string(s) + " has " + std::to_string(length) + " tokens, the model takes " +
                     std::to_string(limits.context));
    }
  }
  if (batch.scored.size() != batch.tokens.size()) return refused("it does not say of each token whether it is scored");
  if (!batch.adapter.empty() && batch.adapter.size() != sequences) {
    return refused("it does not say of each sequence which adapter it uses");
  }
  if (!batch.allowed.empty() && batch.allowed.size() != batch.tokens.size()) {
    return refused("it does not say of each token among which it was chosen");
  }
  for (std::size_t i = 0; i < batch.allowed.size(); ++i) {
    if (batch.scored[i] != 0 && batch.allowed[i] != nullptr && !batch.allowed[i]->allows(batch.tokens[i])) {
      return refused("token " + std::to_string(batch.tokens[i]) + " is not among those that were allowed");
    }
  }
  for (const std::int32_t adapter : batch.adapter) {
    if (adapter < -1 || adapter >= limits.adapters) {
      return refused("there is no adapter " + std::to_string(adapter));
    }
  }
  for (std::size_t i = 0; i < batch.tokens.size(); ++i) {
    const std::int32_t token = batch.tokens[i];
    if (token < 0 || token >= limits.vocabulary || (batch.scored[i] != 0 && token >= limits.usable_vocabulary)) {
      return refused("token " + std::to_string(token) + " is outside of the vocabulary");
    }
  }
  for (std::size_t s = 0; s < sequences; ++s) {
    if (batch.scored[static_cast<std::size_t>(batch.starts[s])] != 0) {
      return refused("the first token of sequence " + std::to_string(s) + " is scored, but nothing predicts it");
    }
  }
  if (!(batch.temperature > 0) || !std::isfinite(1 / batch.temperature)) {
    return refused("its temperature is not positive");
  }
  return {};
}

}  // namespace

Result<void> plan_batch(const PackedBatch& batch, const BatchLimits& limits, BatchPlan& plan) {
  KW_TRY_VOID(check_batch(batch, limits));
  const std::size_t sequences = batch.starts.size() - 1;
  const auto adapter_of = [&](std::size_t s) { return batch.adapter.empty() ? -1 : batch.adapter[s]; };
  std::vector<std::size_t> order(sequences);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, adapter_of);

  std::vector<std::int64_t> first_place(sequences);  // index of a sequence's first scored token in the caller's order
  std::int64_t place = 0;
  for (std::size_t s = 0; s < sequences; ++s) {
    first_place[s] = place;
    for (std::int64_t i = batch.starts[s]; i < batch.starts[s + 1]; ++i) {
      place += batch.scored[static_cast<std::size_t>(i)] != 0 ? 1 : 0;
    }
  }

  plan.tokens.clear();
  plan.positions.clear();
  plan.starts.assign(1, 0);
  plan.runs.clear();
  plan.scored_rows.clear();
  plan.scored_tokens.clear();
  plan.scored_places.clear();
  plan.scored_masks.clear();
  plan.scored_runs.clear();
  plan.inverse_temperature = 1.0f / batch.temperature;
  for (const std::size_t s : order) {
    const std::int64_t length = batch.starts[s + 1] - batch.starts[s];
    if (const std::int32_t adapter = adapter_of(s); adapter >= 0) {
      if (plan.runs.empty() || plan.runs.back().adapter != adapter) {
        plan.runs.push_back({adapter, plan.rows(), 0});
        plan.scored_runs.push_back({adapter, plan.scored(), 0});
      }
      plan.runs.back().rows += length;
    }
    std::int64_t next_place = first_place[s];
    for (std::int64_t i = 0; i < length; ++i) {
      const auto at = static_cast<std::size_t>(batch.starts[s] + i);
      if (batch.scored[at] != 0) {
        plan.scored_rows.push_back(plan.rows() - 1);
        plan.scored_tokens.push_back(batch.tokens[at]);
        plan.scored_places.push_back(next_place++);
        if (!batch.allowed.empty()) plan.scored_masks.push_back(batch.allowed[at]);
      }
      plan.tokens.push_back(batch.tokens[at]);
      plan.positions.push_back(static_cast<std::int32_t>(i));
    }
    plan.starts.push_back(plan.rows());
    if (adapter_of(s) >= 0) plan.scored_runs.back().rows = plan.scored() - plan.scored_runs.back().row;
  }
  return {};
}

}  // namespace kw
