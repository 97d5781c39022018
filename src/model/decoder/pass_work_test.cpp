#include "model/decoder/pass_work.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

ModelDescription small() {
  ModelDescription model;
  model.layers = 2;
  model.hidden = 8;
  model.heads = 2;
  model.kv_heads = 1;
  model.head_dim = 4;
  model.intermediate = 16;
  model.vocabulary = 10;
  model.context = 64;
  return model;
}

// q and o: 8 x 8, k and v: 8 x 4, gate, up and down: 8 x 16; two layers. Output: 10 x 8.
constexpr double layers = 2 * (2 * 64 + 2 * 32 + 3 * 128), output = 80;
constexpr double of_key = 4 * 2 * 8;

PackedBatch two_sequences() {
  PackedBatch batch;
  batch.tokens.assign(5, 1);
  batch.starts = {0, 3, 5};
  batch.scored = {0, 1, 1, 0, 1};
  return batch;
}

TEST(PassWork, CountsProductsAndAttention) {
  EXPECT_DOUBLE_EQ(token_flops(small(), 3), 2 * (layers + output) + 3 * of_key);
  // Keys: 1 + 2 + 3 and 1 + 2.
  EXPECT_DOUBLE_EQ(forward_flops(small(), two_sequences()), 2 * (5 * layers + 3 * output) + 9 * of_key);
  EXPECT_EQ(forward_flops(small(), {}), 0);
}

TEST(PassWork, FrozenWeightsCostOneProductLess) {
  const double forward = forward_flops(small(), two_sequences());
  EXPECT_DOUBLE_EQ(training_flops(small(), two_sequences(), true), 3 * forward);
  EXPECT_DOUBLE_EQ(training_flops(small(), two_sequences(), false), 2 * forward);
}

// The rule of thumb: two operations a weight and token forward, six in training.
TEST(PassWork, AWholeModelIsSixOperationsAWeightAndToken) {
  PackedBatch batch;
  batch.tokens.assign(64, 1);
  batch.starts = {0, 64};
  batch.scored.assign(64, 1);
  const double rule = 6 * (layers + output) * 64;
  const double attention = 3 * of_key * 64 * 65 / 2;
  EXPECT_DOUBLE_EQ(training_flops(small(), batch, true), rule + attention);
}

}  // namespace
}  // namespace kw
