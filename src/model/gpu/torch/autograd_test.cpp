// Gradients by hand against torch's autograd: the model once more, written with plain operations in float64.

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "model/decoder/batch_plan.h"
#include "model/gpu/torch/trainer.h"

namespace kw {
namespace {

using at::Tensor;

ModelDescription small_description() {
  ModelDescription model;
  model.architecture = decltype(model.architecture)::qwen2;
  model.layers = 2;
  model.hidden = 48;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = 16;
  model.intermediate = 80;
  model.vocabulary = 100;
  model.context = 64;
  model.rope_base = 1e4;
  model.tied_embeddings = true;
  model.attention_bias = true;
  return model;
}

// Double leaves over the program's flat values.
struct Leaves {
  std::map<std::string, Tensor> by_name;

  Leaves(const ParameterLayout& layout, const std::vector<float>& values) {
    for (const auto& place : layout.places) {
      const Tensor host =
          at::from_blob(const_cast<float*>(values.data()) + place.offset, place.tensor.shape, at::kFloat);
      by_name[place.tensor.name] = host.to(at::kDouble).clone().requires_grad_(true);
    }
  }
  const Tensor& operator[](const std::string& name) const { return by_name.at(name); }
};

Tensor norm(const Tensor& x, const Tensor& weight, double epsilon) {
  return x * (x.square().mean(-1, true) + epsilon).rsqrt() * weight;
}

Tensor rotated(const Tensor& x, double base) {  // (heads, length, head_dim)
  const std::int64_t length = x.size(1), half = x.size(2) / 2;
  const Tensor frequency = at::pow(base, at::arange(half, at::kDouble) / -static_cast<double>(half));
  const Tensor angle = at::arange(length, at::kDouble).unsqueeze(1) * frequency;
  const Tensor c = at::cat({angle.cos(), angle.cos()}, 1), s = at::cat({angle.sin(), angle.sin()}, 1);
  return x * c + at::cat({-x.narrow(2, half, half), x.narrow(2, 0, half)}, 2) * s;
}

// Hidden states after the final norm of one sequence. a, b: leaves of the adapter, by layer and projection.
struct AdapterLeaves {
  std::vector<std::array<Tensor, projection_count>> a, b;
  double scale = 1;
};
Tensor hidden_states(const ModelDescription& model, const Leaves& leaves, const AdapterLeaves* adapter,
                     const Tensor& ids) {
  const std::int64_t length = ids.size(0), group = model.heads / model.kv_heads;
  Tensor x = leaves["model.embed_tokens.weight"].index_select(0, ids);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    const auto linear = [&](const Tensor& in, const char* name, Projection projection, bool bias) {
      Tensor out = at::matmul(in, leaves[prefix + name + ".weight"].t());
      if (bias) out = out + leaves[prefix + name + ".bias"];
      if (adapter != nullptr) {
        const auto l = static_cast<std::size_t>(layer), p = static_cast<std::size_t>(projection);
        out = out + at::matmul(at::matmul(in, adapter->a[l][p].t()), adapter->b[l][p].t()) * adapter->scale;
      }
      return out;
    };
    const auto heads = [&](const Tensor& rows, std::int64_t count) {
      return rows.view({length, count, model.head_dim}).transpose(0, 1);
    };
    const Tensor in = norm(x, leaves[prefix + "input_layernorm.weight"], model.rms_epsilon);
    const Tensor q = rotated(heads(linear(in, "self_attn.q_proj", Projection::q, true), model.heads), model.rope_base);
    const Tensor k =
        rotated(heads(linear(in, "self_attn.k_proj", Projection::k, true), model.kv_heads), model.rope_base)
            .repeat_interleave(group, 0);
    const Tensor v =
        heads(linear(in, "self_attn.v_proj", Projection::v, true), model.kv_heads).repeat_interleave(group, 0);
    const Tensor later = at::ones({length, length}, at::kBool).triu(1);
    const Tensor p = (at::matmul(q, k.transpose(1, 2)) / std::sqrt(static_cast<double>(model.head_dim)))
                         .masked_fill(later, -INFINITY)
                         .softmax(2);
    const Tensor attended = at::matmul(p, v).transpose(0, 1).reshape({length, model.heads * model.head_dim});
    x = x + linear(attended, "self_attn.o_proj", Projection::o, false);
    const Tensor in2 = norm(x, leaves[prefix + "post_attention_layernorm.weight"], model.rms_epsilon);
    const Tensor inner = at::silu(linear(in2, "mlp.gate_proj", Projection::gate, false)) *
                         linear(in2, "mlp.up_proj", Projection::up, false);
    x = x + linear(inner, "mlp.down_proj", Projection::down, false);
  }
  return norm(x, leaves["model.norm.weight"], model.rms_epsilon);
}

AdapterLeaves leaves_of(const ModelDescription& model, Adapter& from) {
  AdapterLeaves adapter;
  adapter.scale = static_cast<double>(from.scale);
  for (const auto& places : from.layout.layers) {
    auto& a = adapter.a.emplace_back();
    auto& b = adapter.b.emplace_back();
    for (std::size_t p = 0; p < places.size(); ++p) {
      const ProjectionShape shape = projection_shape(model, static_cast<Projection>(p));
      const auto leaf = [&](std::int64_t at, std::int64_t rows, std::int64_t columns) {
        return at::from_blob(from.values.data() + at, {rows, columns}, at::kFloat)
            .to(at::kDouble)
            .clone()
            .requires_grad_(true);
      };
      a[p] = leaf(places[p].a, from.layout.rank, shape.in);
      b[p] = leaf(places[p].b, shape.out, from.layout.rank);
    }
  }
  return adapter;
}

TEST(GpuTrainerGradients, EqualAutograd) {
  const ModelDescription model = small_description();
  Parameters parameters(model);
  Random random(4);
  for (float& value : parameters.values) value = static_cast<float>(random.normal() * 0.2);
  using enum Projection;
  std::vector<Adapter> adapters = {make_adapter(model, "a", 4, 8, {q, k, v, o, gate, up, down}, 1)};
  for (float& value : adapters[0].values) value += static_cast<float>(random.normal() * 0.1);
  std::vector<float> value_head(static_cast<std::size_t>(model.hidden) + 1);
  for (float& value : value_head) value = static_cast<float>(random.normal() * 0.1);

  PackedBatch batch;
  batch.starts = {0, 12, 30};
  batch.adapter = {0, -1};
  batch.temperature = 1.3f;
  for (int i = 0; i < 30; ++i) {
    batch.tokens.push_back(static_cast<std::int32_t>(random.integer(0, model.vocabulary - 11)));
    batch.scored.push_back(i != 0 && i != 12 && i % 5 != 3);
  }
  TrainingOptions training;
  training.usable_vocabulary = 90;
  training.logits_chunk = 7;
  GpuOptions options;
  options.precision = GpuPrecision::float32;
  options.on_cpu = true;
  GpuTrainer trainer(parameters, adapters, value_head, training, options, nullptr);
  BatchPlan plan;
  ASSERT_TRUE(plan_batch(batch, {model.vocabulary, 90, model.context, 1}, plan).ok());
  const TokenScores scores = trainer.run(plan, true);
  ScoreGradients gradients;
  for (std::size_t i = 0; i < scores.log_prob.size(); ++i) {
    gradients.log_prob.push_back(static_cast<float>(random.normal()));
    gradients.entropy.push_back(static_cast<float>(random.normal()));
    gradients.value.push_back(static_cast<float>(random.normal()));
  }
  trainer.backward(plan, gradients);

  const Leaves leaves(parameters.layout, parameters.values);
  const AdapterLeaves adapter = leaves_of(model, adapters[0]);
  Tensor head =
      at::from_blob(value_head.data(), {model.hidden + 1}, at::kFloat).to(at::kDouble).clone().requires_grad_(true);
  Tensor loss = at::zeros({}, at::kDouble);
  std::size_t scored = 0;
  for (std::size_t s = 0; s < 2; ++s) {
    const std::int64_t start = batch.starts[s], length = batch.starts[s + 1] - start;
    const Tensor ids = at::from_blob(batch.tokens.data() + start, {length}, at::kInt).to(at::kLong);
    const Tensor h = hidden_states(model, leaves, batch.adapter[s] == 0 ? &adapter : nullptr, ids);
    const Tensor logits = at::matmul(h, leaves["model.embed_tokens.weight"].t()).narrow(1, 0, 90) / 1.3;
    const Tensor log_p = logits.log_softmax(1), entropy = -(log_p.exp() * log_p).sum(1);
    const Tensor value = at::mv(h, head.narrow(0, 0, model.hidden)) + head[model.hidden];
    for (std::int64_t i = 1; i < length; ++i) {
      if (batch.scored[static_cast<std::size_t>(start + i)] == 0) continue;
      const Tensor chosen = log_p[i - 1][batch.tokens[static_cast<std::size_t>(start + i)]];
      EXPECT_NEAR(chosen.item<double>(), static_cast<double>(scores.log_prob[scored]), 1e-4);
      EXPECT_NEAR(entropy[i - 1].item<double>(), static_cast<double>(scores.entropy[scored]), 1e-4);
      EXPECT_NEAR(value[i - 1].item<double>(), static_cast<double>(scores.value[scored]), 1e-4);
      loss = loss + chosen * static_cast<double>(gradients.log_prob[scored]) +
             entropy[i - 1] * static_cast<double>(gradients.entropy[scored]) +
             value[i - 1] * static_cast<double>(gradients.value[scored]);
      ++scored;
    }
  }
  ASSERT_EQ(scored, scores.log_prob.size());
  loss.backward();

  // Relative to the largest gradient of the tensor.
  const auto expect_equal = [](const Tensor& leaf, const float* found, const std::string& name) {
    const Tensor wanted = leaf.grad(), ours = at::from_blob(const_cast<float*>(found), leaf.sizes(), at::kFloat);
    const double most = wanted.abs().max().item<double>();
    EXPECT_GT(most, 0) << name;
    EXPECT_LT((ours.to(at::kDouble) - wanted).abs().max().item<double>() / most, 1e-5) << name;
  };
  std::vector<float> base(parameters.values.size()), low_rank(adapters[0].values.size()), values(value_head.size());
  trainer.read_part(0, PartArray::gradient, base);
  trainer.read_part(1, PartArray::gradient, low_rank);
  trainer.read_part(2, PartArray::gradient, values);
  for (const auto& place : parameters.layout.places) {
    expect_equal(leaves[place.tensor.name], base.data() + place.offset, place.tensor.name);
  }
  for (std::size_t l = 0; l < adapter.a.size(); ++l) {
    for (std::size_t p = 0; p < projection_count; ++p) {
      const auto& place = adapters[0].layout.layers[l][p];
      expect_equal(adapter.a[l][p], low_rank.data() + place.a, "A " + std::to_string(l) + " " + std::to_string(p));
      expect_equal(adapter.b[l][p], low_rank.data() + place.b, "B " + std::to_string(l) + " " + std::to_string(p));
    }
  }
  expect_equal(head, values.data(), "value head");
}

}  // namespace
}  // namespace kw
