#pragma once
// Test code: the model in double precision, written as the formulas are, one token after the other. Slow and plain; it
// shares nothing with the code that it checks but the layout of parameters.

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "model/decoder/adapter.h"
#include "model/decoder/parameters.h"
#include "model/decoder/training.h"

namespace kw::reference {

using Vector = std::vector<double>;

struct Model {
  ModelDescription description;
  ParameterLayout layout;
  Vector base;                    // like Parameters::values
  std::vector<Adapter> adapters;  // for their layouts and scales
  std::vector<Vector> adapter_values;
  Vector value_head;  // hidden weights and a bias, or empty
  std::int64_t usable = 0;
};

inline Vector doubles(const std::vector<float>& floats) { return Vector(floats.begin(), floats.end()); }

inline Vector norm(const Model& model, const Vector& x, std::int64_t weight) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double inverse = 1 / std::sqrt(squares / static_cast<double>(x.size()) + model.description.rms_epsilon);
  Vector y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * inverse * model.base[static_cast<std::size_t>(weight) + i];
  return y;
}

inline Vector times(const double* weight, std::int64_t out, const Vector& x) {
  Vector y(static_cast<std::size_t>(out));
  for (std::size_t o = 0; o < y.size(); ++o) {
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
  }
  return y;
}

inline Vector project(const Model& model, std::size_t layer, Projection projection, std::int32_t adapter,
                      const Vector& x) {
  const ProjectionShape shape = projection_shape(model.description, projection);
  const LayerLayout& places = model.layout.layers[layer];
  const auto p = static_cast<std::size_t>(projection);
  Vector y = times(model.base.data() + places.weight[p], shape.out, x);
  if (shape.bias) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += model.base[static_cast<std::size_t>(places.bias[p]) + i];
  }
  if (adapter < 0) return y;
  const Adapter& lora = model.adapters[static_cast<std::size_t>(adapter)];
  const AdapterLayout::Place place = lora.layout.layers[layer][p];
  if (place.a < 0) return y;
  const double* values = model.adapter_values[static_cast<std::size_t>(adapter)].data();
  const Vector low = times(values + place.a, lora.layout.rank, x);
  const Vector update = times(values + place.b, shape.out, low);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += static_cast<double>(lora.scale) * update[i];
  return y;
}

inline void rotate(const ModelDescription& model, double* heads, std::int64_t count, std::int64_t position) {
  const std::int64_t half = model.head_dim / 2;
  for (std::int64_t head = 0; head < count; ++head, heads += model.head_dim) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(model.head_dim);
      const double angle = static_cast<double>(position) * std::pow(model.rope_base, exponent);
      const double first = heads[i], second = heads[i + half];
      heads[i] = first * std::cos(angle) - second * std::sin(angle);
      heads[i + half] = second * std::cos(angle) + first * std::sin(angle);
    }
  }
}

// The residual stream of one sequence after all blocks.
inline std::vector<Vector> stream(const Model& model, const std::vector<std::int32_t>& tokens, std::int32_t adapter) {
  const ModelDescription& shape = model.description;
  const ParameterLayout& layout = model.layout;
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  const auto dim = static_cast<std::size_t>(shape.head_dim);
  std::vector<Vector> x;
  for (const std::int32_t token : tokens) {
    const auto* row = model.base.data() + layout.embedding + token * shape.hidden;
    x.emplace_back(row, row + hidden);
  }
  for (std::size_t layer = 0; layer < layout.layers.size(); ++layer) {
    std::vector<Vector> q, k, v;
    for (std::size_t t = 0; t < x.size(); ++t) {
      const Vector in = norm(model, x[t], layout.layers[layer].input_norm);
      q.push_back(project(model, layer, Projection::q, adapter, in));
      k.push_back(project(model, layer, Projection::k, adapter, in));
      v.push_back(project(model, layer, Projection::v, adapter, in));
      rotate(shape, q.back().data(), shape.heads, static_cast<std::int64_t>(t));
      rotate(shape, k.back().data(), shape.kv_heads, static_cast<std::int64_t>(t));
    }
    for (std::size_t t = 0; t < x.size(); ++t) {
      Vector out(static_cast<std::size_t>(shape.heads) * dim);
      for (std::size_t head = 0; head < static_cast<std::size_t>(shape.heads); ++head) {
        const std::size_t kv = head / static_cast<std::size_t>(shape.heads / shape.kv_heads);
        Vector weight(t + 1);
        double sum = 0;
        for (std::size_t s = 0; s <= t; ++s) {
          double score = 0;
          for (std::size_t i = 0; i < dim; ++i) score += q[t][head * dim + i] * k[s][kv * dim + i];
          sum += weight[s] = std::exp(score / std::sqrt(static_cast<double>(dim)));
        }
        for (std::size_t s = 0; s <= t; ++s) {
          for (std::size_t i = 0; i < dim; ++i) out[head * dim + i] += weight[s] / sum * v[s][kv * dim + i];
        }
      }
      const Vector update = project(model, layer, Projection::o, adapter, out);
      for (std::size_t i = 0; i < hidden; ++i) x[t][i] += update[i];
    }
    for (Vector& row : x) {
      const Vector in = norm(model, row, layout.layers[layer].post_attention_norm);
      Vector gate = project(model, layer, Projection::gate, adapter, in);
      const Vector up = project(model, layer, Projection::up, adapter, in);
      for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
      const Vector update = project(model, layer, Projection::down, adapter, gate);
      for (std::size_t i = 0; i < hidden; ++i) row[i] += update[i];
    }
  }
  return x;
}

struct Scores {
  Vector log_prob, entropy, value;
};

inline Scores scores(const Model& model, const PackedBatch& batch) {
  const ParameterLayout& layout = model.layout;
  const std::int64_t usable = model.usable > 0 ? model.usable : model.description.vocabulary;
  Scores result;
  for (std::size_t s = 0; s + 1 < batch.starts.size(); ++s) {
    const auto begin = static_cast<std::size_t>(batch.starts[s]), end = static_cast<std::size_t>(batch.starts[s + 1]);
    const std::vector<std::int32_t> tokens(batch.tokens.data() + begin, batch.tokens.data() + end);
    const std::vector<Vector> x = stream(model, tokens, batch.adapter.empty() ? -1 : batch.adapter[s]);
    for (std::size_t t = 1; t < tokens.size(); ++t) {
      if (batch.scored[begin + t] == 0) continue;
      const Vector h = norm(model, x[t - 1], layout.final_norm);
      Vector logits = times(model.base.data() + layout.output, usable, h);
      double sum = 0, mean = 0;
      for (double& logit : logits) sum += std::exp(logit /= static_cast<double>(batch.temperature));
      for (const double logit : logits) mean += std::exp(logit) / sum * logit;
      result.log_prob.push_back(logits[static_cast<std::size_t>(tokens[t])] - std::log(sum));
      result.entropy.push_back(std::log(sum) - mean);
      if (model.value_head.empty()) continue;
      double value = model.value_head.back();
      for (std::size_t i = 0; i < h.size(); ++i) value += h[i] * model.value_head[i];
      result.value.push_back(value);
    }
  }
  return result;
}

// What backward() is told to be the loss: a weighted sum of all scores.
inline double loss(const Model& model, const PackedBatch& batch, const ScoreGradients& weights) {
  const Scores all = scores(model, batch);
  double sum = 0;
  for (std::size_t i = 0; i < all.log_prob.size(); ++i) {
    sum += all.log_prob[i] * static_cast<double>(weights.log_prob[i]);
    if (!weights.entropy.empty()) sum += all.entropy[i] * static_cast<double>(weights.entropy[i]);
    if (!weights.value.empty()) sum += all.value[i] * static_cast<double>(weights.value[i]);
  }
  return sum;
}

}  // namespace kw::reference
