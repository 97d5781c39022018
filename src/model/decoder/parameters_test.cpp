#include "model/decoder/parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "model/decoder/presets.h"
#include "model/decoder/schedule.h"
#include "model/decoder/trainer_case.h"

namespace kw {
namespace {

TEST(ParameterLayout, PlacesEveryTensorOnceAndPartsSideBySide) {
  for (const bool tied : {false, true}) {
    for (const Architecture architecture : {Architecture::llama, Architecture::qwen2}) {
      ModelDescription model = small_description();
      model.tied_embeddings = tied;
      model.architecture = architecture;
      const ParameterLayout layout(model);
      EXPECT_EQ(layout.size, parameter_count(model));
      std::int64_t next = 0;
      for (const auto& place : layout.places) {
        EXPECT_EQ(place.offset, next);
        next += element_count(place.tensor.shape).value();
      }
      EXPECT_EQ(layout.output == layout.embedding, tied);
      const auto offset = [&](const std::string& name) {
        for (const auto& place : layout.places) {
          if (place.tensor.name == name) return place.offset;
        }
        return std::int64_t{-1};
      };
      for (std::size_t i = 0; i < layout.layers.size(); ++i) {
        const std::string prefix = "model.layers." + std::to_string(i) + ".";
        for (int p = 0; p < projection_count; ++p) {
          const std::string name =
              prefix + (p < 4 ? "self_attn." : "mlp.") + std::string(to_string(static_cast<Projection>(p)));
          EXPECT_EQ(layout.layers[i].weight[p], offset(name + ".weight"));
          EXPECT_EQ(layout.layers[i].bias[p], offset(name + ".bias"));
        }
        EXPECT_EQ(layout.layers[i].input_norm, offset(prefix + "input_layernorm.weight"));
        EXPECT_EQ(layout.layers[i].post_attention_norm, offset(prefix + "post_attention_layernorm.weight"));
        const auto* weight = layout.layers[i].weight;
        EXPECT_EQ(weight[1] - weight[0], 32 * 24);
        EXPECT_EQ(weight[2] - weight[1], 16 * 24);
        EXPECT_EQ(weight[5] - weight[4], 40 * 24);
      }
    }
  }
}

TEST(Presets, HaveThePublishedSizes) {
  const auto count = [](const char* name, std::int64_t vocabulary) {
    return parameter_count(preset_description(name, vocabulary).value());
  };
  EXPECT_EQ(count("smollm2-135m", 0), 134'515'008);
  EXPECT_EQ(count("qwen2.5-coder-0.5b", 0), 494'032'768);
  EXPECT_EQ(count("qwen2.5-coder-1.5b", 0), 1'543'714'304);
  EXPECT_EQ(count("qwen2.5-coder-3b", 0), 3'085'938'688);
  EXPECT_EQ(count("qwen2.5-coder-7b", 0), 7'615'616'512);
  EXPECT_NEAR(static_cast<double>(count("tiny-1m", 2048)), 1e6, 1e5);
  EXPECT_NEAR(static_cast<double>(count("tiny-3m", 2048)), 2.8e6, 4e5);
  EXPECT_NEAR(static_cast<double>(count("tiny-6m", 2048)), 5e6, 1e6);
  EXPECT_NEAR(static_cast<double>(count("small-30m", 8192)), 3e7, 5e6);
  EXPECT_NEAR(static_cast<double>(count("small-60m", 8192)), 6e7, 5e6);
  EXPECT_FALSE(preset_description("tiny-2m", 2048).ok());
  EXPECT_FALSE(preset_description("tiny-1m", 0).ok());
  for (const std::string_view name : preset_names()) EXPECT_TRUE(preset_description(name, 2048).ok()) << name;
}

TEST(Presets, FirstValues) {
  ThreadTeam one(1), three(3);
  const ModelDescription model = preset_description("tiny-1m", 512).value();
  Parameters parameters = initial_parameters(one, model, 7);
  EXPECT_TRUE(same_bits(parameters.values, initial_parameters(three, model, 7).values));
  EXPECT_FALSE(same_bits(parameters.values, initial_parameters(one, model, 8).values));
  for (const auto& place : parameters.layout.places) {
    const auto values = parameters.at(place.offset, element_count(place.tensor.shape).value());
    if (place.tensor.shape.size() == 1) {
      EXPECT_EQ(std::set<float>(values.begin(), values.end()), std::set<float>{1.0f}) << place.tensor.name;
      continue;
    }
    double squares = 0, sum = 0;
    for (const float value : values) {
      squares += static_cast<double>(value) * static_cast<double>(value);
      sum += static_cast<double>(value);
    }
    const auto count = static_cast<double>(values.size());
    const bool residual =
        place.tensor.name.ends_with("o_proj.weight") || place.tensor.name.ends_with("down_proj.weight");
    EXPECT_NEAR(std::sqrt(squares / count), residual ? 0.02 / std::sqrt(8.0) : 0.02, 0.0006) << place.tensor.name;
    EXPECT_NEAR(sum / count, 0, 0.001) << place.tensor.name;
  }
}

TEST(Schedule, WarmsUpAndFalls) {
  const Schedule constant{ScheduleShape::constant, 2, 4, 0, 0};
  EXPECT_DOUBLE_EQ(learning_rate_at(constant, 0), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate_at(constant, 3), 2);
  EXPECT_DOUBLE_EQ(learning_rate_at(constant, 1000), 2);
  const Schedule linear{ScheduleShape::linear, 2, 10, 110, 0.1};
  EXPECT_DOUBLE_EQ(learning_rate_at(linear, 10), 2);
  EXPECT_DOUBLE_EQ(learning_rate_at(linear, 60), 1.1);
  EXPECT_DOUBLE_EQ(learning_rate_at(linear, 110), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate_at(linear, 500), 0.2);
  const Schedule cosine{ScheduleShape::cosine, 2, 0, 100, 0};
  EXPECT_DOUBLE_EQ(learning_rate_at(cosine, 0), 2);
  EXPECT_NEAR(learning_rate_at(cosine, 50), 1, 1e-12);
  EXPECT_NEAR(learning_rate_at(cosine, 25), 1 + std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(learning_rate_at(cosine, 100), 0, 1e-12);
}

}  // namespace
}  // namespace kw
