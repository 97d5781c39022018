#include "model/decoder/pass_work.h"

#include <algorithm>

namespace kw {
namespace {

double output_weights(const ModelDescription& model) { return static_cast<double>(model.vocabulary * model.hidden); }

// The embedding is a look-up.
double layer_weights(const ModelDescription& model) {
  double weights = 0;
  for (int p = 0; p < projection_count; ++p) {
    const ProjectionShape shape = projection_shape(model, static_cast<Projection>(p));
    weights += static_cast<double>(model.layers * shape.out * shape.in);
  }
  return weights;
}

// Scores and weighted values of one query and one key, in all layers.
double flops_of_key(const ModelDescription& model) {
  return 4 * static_cast<double>(model.layers * model.heads * model.head_dim);
}

}  // namespace

double token_flops(const ModelDescription& model, double context) {
  return 2 * (layer_weights(model) + output_weights(model)) + context * flops_of_key(model);
}

double forward_flops(const ModelDescription& model, const PackedBatch& batch) {
  double keys = 0;  // that the tokens attend to, themselves included
  for (std::size_t i = 0; i + 1 < batch.starts.size(); ++i) {
    const auto length = static_cast<double>(batch.starts[i + 1] - batch.starts[i]);
    keys += length * (length + 1) / 2;
  }
  const auto scored = static_cast<double>(std::ranges::count_if(batch.scored, [](auto one) { return one != 0; }));
  return 2 * static_cast<double>(batch.tokens.size()) * layer_weights(model) + 2 * scored * output_weights(model) +
         keys * flops_of_key(model);
}

double training_flops(const ModelDescription& model, const PackedBatch& batch, bool train_base) {
  return (train_base ? 3 : 2) * forward_flops(model, batch);
}

}  // namespace kw
