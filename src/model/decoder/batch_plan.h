#pragma once
// A PackedBatch, checked and put in the order in which the CPU trainer computes it: sequences of one adapter side by
// side, so that an adapter is one product over consecutive rows.

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/decoder/training.h"

namespace kw {

struct BatchLimits {
  std::int64_t vocabulary = 0;
  std::int64_t usable_vocabulary = 0;  // scored tokens lie below it
  std::int64_t context = 0;            // longest sequence
  std::int64_t adapters = 0;
};

struct BatchPlan {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> positions;  // within their sequences
  std::vector<std::int64_t> starts;     // of each sequence, and the end
  struct Run {
    std::int32_t adapter = -1;
    std::int64_t row = 0, rows = 0;
  };
  std::vector<Run> runs;  // of adapters; rows of the bare base are in none
  // One for each scored token:
  std::vector<std::int64_t> scored_rows;       // the row that predicts it
  std::vector<std::int32_t> scored_tokens;     // itself
  std::vector<std::int64_t> scored_places;     // its index among the scored tokens of the caller's batch
  std::vector<const TokenMask*> scored_masks;  // null: any token; empty: of all of them
  std::vector<Run> scored_runs;                // of adapters, in scored rows instead of rows
  float inverse_temperature = 1;

  std::int64_t rows() const { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t sequences() const { return static_cast<std::int64_t>(starts.size()) - 1; }
  std::int64_t scored() const { return static_cast<std::int64_t>(scored_rows.size()); }
};

// Reuses the plan's memory. After an error the plan is of no use.
Result<void> plan_batch(const PackedBatch& batch, const BatchLimits& limits, BatchPlan& plan);

}  // namespace kw
