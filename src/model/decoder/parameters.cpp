#include "model/decoder/parameters.h"

#include "base/check.h"

namespace kw {

std::string_view to_string(Projection projection) {
  static constexpr std::string_view names[projection_count] = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                                               "gate_proj", "up_proj", "down_proj"};
  return names[static_cast<int>(projection)];
}

ProjectionShape projection_shape(const ModelDescription& description, Projection projection) {
  const std::int64_t query = description.heads * description.head_dim;
  const std::int64_t key = description.kv_heads * description.head_dim;
  switch (projection) {
    case Projection::q:
      return {query, description.hidden, description.attention_bias};
    case Projection::k:
    case Projection::v:
      return {key, description.hidden, description.attention_bias};
    case Projection::o:
      return {description.hidden, query, description.attention_bias && description.architecture == Architecture::llama};
    case Projection::gate:
    case Projection::up:
      return {description.intermediate, description.hidden, false};
    case Projection::down:
      return {description.hidden, description.intermediate, false};
  }
  KW_CHECK(false);
}

// expected_tensors() has q, k and v side by side, their biases too, and gate beside up: one product can compute
// several of them.
ParameterLayout::ParameterLayout(const ModelDescription& description) {
  std::vector<NamedShape> tensors = expected_tensors(description);
  std::size_t next = 0;
  const auto take = [&] {
    NamedShape& tensor = tensors[next++];
    const std::int64_t offset = size;
    size += element_count(tensor.shape).value();
    places.push_back({std::move(tensor), offset});
    return offset;
  };
  embedding = take();
  for (std::int64_t i = 0; i < description.layers; ++i) {
    LayerLayout& layer = layers.emplace_back();
    const auto take_weight = [&](Projection p) { layer.weight[static_cast<int>(p)] = take(); };
    const auto take_bias = [&](Projection p) {
      layer.bias[static_cast<int>(p)] = projection_shape(description, p).bias ? take() : -1;
    };
    layer.input_norm = take();
    for (const Projection p : {Projection::q, Projection::k, Projection::v}) take_weight(p);
    for (const Projection p : {Projection::q, Projection::k, Projection::v}) take_bias(p);
    take_weight(Projection::o);
    take_bias(Projection::o);
    layer.post_attention_norm = take();
    for (const Projection p : {Projection::gate, Projection::up, Projection::down}) {
      take_weight(p);
      layer.bias[static_cast<int>(p)] = -1;
    }
  }
  final_norm = take();
  output = description.tied_embeddings ? embedding : take();
  KW_CHECK(next == tensors.size());
}

}  // namespace kw
