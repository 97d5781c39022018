#include "model/decoder/adapter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/decoder/trainer_case.h"

namespace kw {
namespace {

TEST(Adapter, StartsAsPeftDoes) {
  const ModelDescription model = small_description();
  const Adapter adapter = make_adapter(model, "new", 4, 8, {Projection::q, Projection::down}, 3);
  EXPECT_EQ(adapter.scale, 2);
  EXPECT_EQ(adapter.layout.size, 2 * (4 * (24 + 32) + 4 * (40 + 24)));
  for (const auto& layer : adapter.layout.layers) {
    for (int p = 0; p < projection_count; ++p) {
      const auto place = layer[static_cast<std::size_t>(p)];
      const auto projection = static_cast<Projection>(p);
      ASSERT_EQ(place.a >= 0, projection == Projection::q || projection == Projection::down);
      if (place.a < 0) continue;
      const ProjectionShape shape = projection_shape(model, projection);
      float largest = 0;
      for (std::int64_t i = 0; i < 4 * shape.in; ++i) {
        largest = std::max(largest, std::fabs(adapter.values[static_cast<std::size_t>(place.a + i)]));
      }
      const float bound = 1 / std::sqrt(static_cast<float>(shape.in));
      EXPECT_LE(largest, bound);
      EXPECT_GT(largest, 0.9f * bound);
      for (std::int64_t i = 0; i < 4 * shape.out; ++i) {
        EXPECT_EQ(adapter.values[static_cast<std::size_t>(place.b + i)], 0);
      }
    }
  }
}

TEST(Adapter, SurvivesPeftFiles) {
  const ModelDescription model = small_description();
  const Adapter adapter = lively_adapter(model, "a", 3, {Projection::k, Projection::o, Projection::up}, 5);
  TemporaryFolder folder;
  ASSERT_TRUE(write_lora_adapter(folder.path(), to_lora_adapter(adapter, model)).ok());
  const LoraAdapter file = read_lora_adapter(folder.path()).value();
  EXPECT_TRUE(file.modules.contains("model.layers.1.self_attn.k_proj"));
  EXPECT_TRUE(file.modules.contains("model.layers.0.mlp.up_proj"));
  const auto again = adapter_from(file, model, "again");
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(again->scale, adapter.scale);
  EXPECT_EQ(again->layout.size, adapter.layout.size);
  EXPECT_TRUE(same_bits(again->values, adapter.values));
}

TEST(Adapter, OfAnotherModelIsRefused) {
  const ModelDescription model = small_description();
  const LoraAdapter file = to_lora_adapter(lively_adapter(model, "a", 3, all_projections, 5), model);
  ModelDescription wider = model;
  wider.intermediate = 48;
  EXPECT_FALSE(adapter_from(file, wider, "a").ok());
  ModelDescription shallower = model;
  shallower.layers = 1;
  const auto refused = adapter_from(file, shallower, "a");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("model.layers.1."), std::string::npos);
  LoraAdapter head = file;
  head.modules["lm_head"] = {24, 37, std::vector<float>(3 * 24), std::vector<float>(3 * 37)};
  EXPECT_FALSE(adapter_from(head, model, "a").ok());
  Adapter broken = lively_adapter(model, "a", 3, all_projections, 5);
  broken.values.pop_back();
  ThreadTeam team(1);
  EXPECT_FALSE(make_cpu_trainer(team, Parameters(model), {broken}, {}, {}).ok());
}

}  // namespace
}  // namespace kw
