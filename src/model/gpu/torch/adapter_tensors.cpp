#include "model/gpu/torch/adapter_tensors.h"

#include <algorithm>

namespace kw {
namespace {

using at::Tensor;
constexpr std::int64_t alignment = 64;  // elements

const std::vector<Projection>& members(int group) {
  using enum Projection;
  static const std::vector<Projection> all[adapter_group_count] = {{q, k, v}, {o}, {gate, up}, {down}};
  return all[group];
}

std::pair<std::int64_t, std::int64_t> out_and_in(const ModelDescription& d, Projection projection) {
  const std::int64_t query = d.heads * d.head_dim, key = d.kv_heads * d.head_dim;
  switch (projection) {
    case Projection::q:
      return {query, d.hidden};
    case Projection::k:
    case Projection::v:
      return {key, d.hidden};
    case Projection::o:
      return {d.hidden, query};
    case Projection::down:
      return {d.hidden, d.intermediate};
    default:
      return {d.intermediate, d.hidden};
  }
}

int group_of(Projection projection) {
  for (int g = 0; g < adapter_group_count; ++g) {
    for (const Projection member : members(g)) {
      if (member == projection) return g;
    }
  }
  return 0;
}

}  // namespace

const Tensor& matrix_of(const LayerTensors& layer, AdapterGroup group) {
  switch (group) {
    case AdapterGroup::qkv:
      return layer.qkv;
    case AdapterGroup::o:
      return layer.o;
    case AdapterGroup::gate_up:
      return layer.gate_up;
    default:
      return layer.down;
  }
}

AdapterLayoutOnDevice::AdapterLayoutOnDevice(const ModelDescription& description, const AdapterLayout& layout)
    : layers_(static_cast<std::int64_t>(layout.layers.size())), rank_(layout.rank) {
  const auto take = [&](std::int64_t count) {
    const std::int64_t at = size_;
    size_ += (count + alignment - 1) / alignment * alignment;
    return at;
  };
  for (std::int64_t layer = 0; layer < layers_; ++layer) {
    for (int g = 0; g < adapter_group_count; ++g) {
      std::vector<Piece> group;
      std::int64_t column = 0;
      for (const Projection projection : members(g)) {
        const auto [out, in] = out_and_in(description, projection);
        const auto& place = layout.layers[static_cast<std::size_t>(layer)][static_cast<std::size_t>(projection)];
        if (place.a >= 0) {
          const auto first_rank = static_cast<std::int64_t>(group.size()) * rank_;
          group.push_back({layer, projection, place.a, place.b, 0, 0, in, out, first_rank, column, 0});
        }
        column += out;
      }
      if (group.empty()) continue;
      const std::int64_t all_a = take(static_cast<std::int64_t>(group.size()) * rank_ * group.front().in);
      for (Piece& piece : group) {
        piece.group_a = all_a;
        piece.device_a = all_a + piece.first_rank * piece.in;
        piece.device_b = take(piece.out * rank_);
        pieces_.push_back(piece);
      }
    }
  }
}

std::vector<LayerGroups> AdapterLayoutOnDevice::views(const Tensor& flat) const {
  std::vector<LayerGroups> layers(static_cast<std::size_t>(layers_));
  for (const Piece& piece : pieces_) {
    GroupTensors& group =
        layers[static_cast<std::size_t>(piece.layer)][static_cast<std::size_t>(group_of(piece.projection))];
    const std::int64_t ranks = piece.first_rank + rank_;
    group.a = flat.narrow(0, piece.group_a, ranks * piece.in).view({ranks, piece.in});
    group.targets.push_back({flat.narrow(0, piece.device_b, piece.out * rank_).view({piece.out, rank_}),
                             piece.first_rank, piece.column, piece.projection});
  }
  return layers;
}

std::vector<GradientStretch> AdapterLayoutOnDevice::stretches() const {
  std::vector<GradientStretch> stretches;
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    const int ready = static_cast<int>(layers_ - piece->layer);
    if (stretches.empty() || stretches.back().ready != ready) {
      const std::int64_t end = stretches.empty() ? size_ : stretches.back().begin;
      stretches.push_back({end, end, ready});
    }
    stretches.back().begin = piece->group_a;
  }
  return stretches;
}

std::vector<EightBitMoments::Piece> AdapterLayoutOnDevice::pieces() const {
  std::vector<EightBitMoments::Piece> all;
  for (const Piece& piece : pieces_) {
    all.push_back({piece.host_a, piece.device_a, rank_ * piece.in});
    all.push_back({piece.host_b, piece.device_b, rank_ * piece.out});
  }
  std::ranges::sort(all, {}, &EightBitMoments::Piece::host);
  return all;
}

void AdapterLayoutOnDevice::upload(std::span<const float> from, Tensor& flat) const {
  flat.zero_();
  const auto copy = [&](std::int64_t host, std::int64_t device, std::int64_t count) {
    flat.narrow(0, device, count).copy_(at::from_blob(const_cast<float*>(from.data()) + host, {count}, at::kFloat));
  };
  for (const Piece& piece : pieces_) {
    copy(piece.host_a, piece.device_a, rank_ * piece.in);
    copy(piece.host_b, piece.device_b, rank_ * piece.out);
  }
}

void AdapterLayoutOnDevice::download(const Tensor& flat, std::span<float> into) const {
  const auto copy = [&](std::int64_t host, std::int64_t device, std::int64_t count) {
    Tensor target = at::from_blob(into.data() + host, {count}, at::kFloat);
    target.copy_(flat.narrow(0, device, count));
  };
  for (const Piece& piece : pieces_) {
    copy(piece.host_a, piece.device_a, rank_ * piece.in);
    copy(piece.host_b, piece.device_b, rank_ * piece.out);
  }
}

namespace {

const GroupTensors& group_at(const std::vector<LayerGroups>& layers, std::int64_t layer, AdapterGroup group) {
  return layers[static_cast<std::size_t>(layer)][static_cast<std::size_t>(group)];
}
Tensor rows_of(const Tensor& tensor, const BatchPlan::Run& run) { return tensor.narrow(0, run.row, run.rows); }
std::int64_t rank_of(const GroupTensors::Target& target) { return target.b.size(1); }

}  // namespace

std::vector<Tensor> add_adapters(const Operations& operations, const std::vector<AdapterViews>& adapters,
                                 const std::vector<BatchPlan::Run>& runs, std::int64_t layer, AdapterGroup group,
                                 const Tensor& x, const Tensor& y) {
  std::vector<Tensor> inner(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const AdapterViews& adapter = adapters[static_cast<std::size_t>(runs[i].adapter)];
    const GroupTensors& weights = group_at(adapter.weights, layer, group);
    if (!weights.a.defined()) continue;
    inner[i] = at::empty({runs[i].rows, weights.a.size(0)}, x.options());
    operations.product(inner[i], rows_of(x, runs[i]), false, weights.a, true);
    for (const auto& target : weights.targets) {
      Tensor part = rows_of(y, runs[i]).narrow(1, target.column, target.b.size(0));
      operations.low_rank_add(part, inner[i].narrow(1, target.first_rank, rank_of(target)), target.b, true,
                              static_cast<double>(adapter.scale));
    }
  }
  return inner;
}

std::vector<Tensor> adapters_input_gradient(const Operations& operations, const std::vector<AdapterViews>& adapters,
                                            const std::vector<BatchPlan::Run>& runs, std::int64_t layer,
                                            AdapterGroup group, const Tensor& dy, const Tensor& dx) {
  std::vector<Tensor> d_inner(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const AdapterViews& adapter = adapters[static_cast<std::size_t>(runs[i].adapter)];
    const GroupTensors& weights = group_at(adapter.weights, layer, group);
    if (!weights.a.defined()) continue;
    d_inner[i] = at::empty({runs[i].rows, weights.a.size(0)}, dy.options());
    for (const auto& target : weights.targets) {
      Tensor part = d_inner[i].narrow(1, target.first_rank, rank_of(target));
      operations.product(part, rows_of(dy, runs[i]).narrow(1, target.column, target.b.size(0)), false, target.b, false,
                         0, static_cast<double>(adapter.scale));
    }
    Tensor into = rows_of(dx, runs[i]);
    operations.low_rank_add(into, d_inner[i], weights.a, false, 1);
  }
  return d_inner;
}

void adapters_weight_gradient(const Operations& operations, const std::vector<AdapterViews>& adapters,
                              const std::vector<BatchPlan::Run>& runs, std::int64_t layer, AdapterGroup group,
                              const Tensor& dy, const Tensor& x, const std::vector<Tensor>& inner,
                              const std::vector<Tensor>& d_inner) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const AdapterViews& adapter = adapters[static_cast<std::size_t>(runs[i].adapter)];
    const GroupTensors& weights = group_at(adapter.weights, layer, group);
    if (!weights.a.defined()) continue;
    const GroupTensors& gradients = group_at(adapter.gradients, layer, group);
    Tensor da = gradients.a;
    operations.product(da, d_inner[i], true, rows_of(x, runs[i]), false, 1);
    for (std::size_t t = 0; t < weights.targets.size(); ++t) {
      const auto& target = weights.targets[t];
      Tensor db = gradients.targets[t].b;
      operations.product(db, rows_of(dy, runs[i]).narrow(1, target.column, target.b.size(0)), true,
                         inner[i].narrow(1, target.first_rank, rank_of(target)), false, 1,
                         static_cast<double>(adapter.scale));
    }
  }
}

}  // namespace kw
