#pragma once
// The trainable values of a model, as float32 in one flat buffer, and where each tensor lies in it. The same layout
// serves gradients and optimizer moments, so that clipping, AdamW and checkpoints are loops over one span.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/weights/model_description.h"

namespace kw {

// The linear layers of a block, in the order in which they are used.
enum class Projection { q, k, v, o, gate, up, down };
inline constexpr int projection_count = 7;
std::string_view to_string(Projection projection);  // "q_proj"

struct ProjectionShape {
  std::int64_t out = 0, in = 0;
  bool bias = false;
};
ProjectionShape projection_shape(const ModelDescription& description, Projection projection);

// Offsets in floats into the flat buffer; -1: there is none.
struct LayerLayout {
  std::int64_t input_norm = 0;                 // (hidden)
  std::int64_t weight[projection_count] = {};  // (out, in)
  std::int64_t bias[projection_count] = {};    // (out)
  std::int64_t post_attention_norm = 0;        // (hidden)
};

struct ParameterLayout {
  explicit ParameterLayout(const ModelDescription& description);
  std::int64_t embedding = 0;  // (vocabulary, hidden)
  std::vector<LayerLayout> layers;
  std::int64_t final_norm = 0;  // (hidden)
  std::int64_t output = 0;      // (vocabulary, hidden); the embedding's place when they are tied
  std::int64_t size = 0;        // floats in all
  struct Place {
    NamedShape tensor;
    std::int64_t offset = 0;
  };
  std::vector<Place> places;  // in the order of expected_tensors()
};

struct Parameters {
  ModelDescription description;
  ParameterLayout layout;
  std::vector<float> values;

  explicit Parameters(const ModelDescription& described)
      : description(described), layout(described), values(static_cast<std::size_t>(layout.size)) {}
  std::span<float> at(std::int64_t offset, std::int64_t count) {
    return std::span(values).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
  }
};

}  // namespace kw
