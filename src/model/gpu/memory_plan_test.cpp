#include "model/gpu/memory_plan.h"

#include <gtest/gtest.h>

#include "model/decoder/presets.h"

namespace kw {
namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

TrainerShape shape_of(const char* model, TrainingMethod method, bool eight_bit = false) {
  TrainerShape shape;
  shape.model = preset_description(model, 2048).value();
  shape.method = method;
  if (method == TrainingMethod::full) return shape;
  shape.adapter_parameters = adapter_parameters(shape.model, 16);
  shape.adapter_ranks = projection_count * 16;
  shape.eight_bit = eight_bit;
  return shape;
}

std::int64_t fixed(const TrainerShape& shape) { return sum_of(fixed_memory(shape)); }

TEST(MemoryPlan, WhatIsAlwaysThereIsCountedByHand) {
  const TrainerShape qlora = shape_of("qwen2.5-coder-7b", TrainingMethod::qlora);
  // Of a layer: q, o 3584 x 3584; k, v 512 x 3584; gate, up, down 18944 x 3584.
  const std::int64_t linear = 28 * (2 * 3584 * 3584 + 2 * 512 * 3584 + 3 * std::int64_t{18944} * 3584);
  const auto pieces = fixed_memory(qlora);
  EXPECT_EQ(pieces[0].bytes, linear / 2 + linear / 64 + linear / 16384 * 4) << "4.127 bits an element";
  EXPECT_EQ(pieces[1].bytes, (parameter_count(qlora.model) - linear) * 2);
  EXPECT_EQ(pieces[2].bytes, 2 * std::int64_t{18944} * 3584 * 2) << "gate and up";
  EXPECT_EQ(qlora.adapter_parameters, 28 * 16 * (2 * (3584 + 3584) + 2 * (512 + 3584) + 3 * (18944 + 3584)));
  EXPECT_LT(fixed(qlora), 7 * gib);
  EXPECT_GT(fixed(shape_of("qwen2.5-coder-7b", TrainingMethod::lora)), 14 * gib);
  EXPECT_LT(fixed(shape_of("qwen2.5-coder-7b", TrainingMethod::qlora, true)), fixed(qlora) - 230'000'000);
}

TEST(MemoryPlan, APassKeepsWhatFitsAndNoMore) {
  const TrainerShape shape = shape_of("qwen2.5-coder-7b", TrainingMethod::qlora);
  const PassNeeds needs{8192, 8188, 4};
  const std::int64_t least = plan_pass(shape, needs, 0).plan.bytes;
  EXPECT_FALSE(plan_pass(shape, needs, least - 1).fits);
  double before = 2;
  for (std::int64_t available = least; available < least + 40 * gib; available += gib) {
    const auto [fits, plan] = plan_pass(shape, needs, available);
    ASSERT_TRUE(fits);
    EXPECT_LE(plan.bytes, available);
    EXPECT_LE(plan.products + plan.attention, 28);
    const double again = plan.recomputed(shape.model);
    EXPECT_LE(again, before);
    before = again;
    std::int64_t products = 0, attention = 0;
    for (std::int64_t layer = 0; layer < 28; ++layer) {
      products += plan.kept(layer, 28) == Kept::products;
      attention += plan.kept(layer, 28) == Kept::attention;
    }
    EXPECT_EQ(products, plan.products);
    EXPECT_EQ(attention, plan.attention);
  }
  EXPECT_EQ(before, 0) << "with 40 GiB more nothing is computed twice";
}

// The case that the limit is for: 7B, 4 x 2048 tokens on a card of 24 GB; nothing twice with 2048 tokens a pass.
TEST(MemoryPlan, SevenBillionFitInto22GibAndFullTrainingDoesNot) {
  const TrainerShape qlora = shape_of("qwen2.5-coder-7b", TrainingMethod::qlora);
  const std::int64_t left = 22 * gib - memory_outside_allocator - fixed(qlora);
  EXPECT_TRUE(plan_pass(qlora, {8192, 8188, 4}, left).fits);
  EXPECT_EQ(plan_pass(qlora, {2048, 2047, 1}, left).plan.products, 28);
  EXPECT_GE(most_rows(qlora, left, Kept::input, 2048, 2048), 8192);
  EXPECT_GE(most_rows(qlora, left, Kept::products, 2048, 2048), 2048);
  const TrainerShape full = shape_of("qwen2.5-coder-7b", TrainingMethod::full);
  EXPECT_EQ(most_rows(full, 22 * gib - memory_outside_allocator - fixed(full), Kept::input, 512, 512), 0);
}

TEST(MemoryPlan, UsualPassesAreAsLongAsTheyFitBesideADecoder) {
  const TrainerShape shape = shape_of("qwen2.5-coder-7b", TrainingMethod::qlora);
  const std::int64_t left = 24 * gib - memory_outside_allocator - fixed(shape);
  const std::int64_t rows = usual_rows(shape, left, 2048);
  EXPECT_GE(rows, 2048);
  EXPECT_TRUE(plan_pass(shape, {rows, rows, 1}, left - left * 2 / 5).fits);
  EXPECT_EQ(usual_rows(shape, left, 8192), 8192) << "rather computed twice than short";
  EXPECT_EQ(usual_rows(shape, gib / 8, 2048), 0);
}

TEST(MemoryPlan, NamesOfMethodsAreReadBack) {
  for (const auto method : {TrainingMethod::full, TrainingMethod::lora, TrainingMethod::qlora})
    EXPECT_EQ(training_method(to_string(method)).value(), method);
  EXPECT_FALSE(training_method("lore").ok());
}

}  // namespace
}  // namespace kw
