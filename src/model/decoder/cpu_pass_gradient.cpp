#include <algorithm>
#include <cstring>

#include "model/decoder/cpu_pass.h"

namespace kw {
namespace {

// The plan's scored rows to their places among all rows; the others become zero.
void scatter_rows(ThreadTeam& team, const BatchPlan& plan, std::int64_t width, const float* from, float* to) {
  constexpr std::int64_t rows_in_part = 64;
  const std::vector<std::int64_t>& scored = plan.scored_rows;  // ascending
  const auto row_bytes = static_cast<std::size_t>(width) * sizeof(float);
  team.run((plan.rows() + rows_in_part - 1) / rows_in_part, [&](std::int64_t part) {
    const std::int64_t begin = part * rows_in_part;
    const std::int64_t end = std::min(plan.rows(), begin + rows_in_part);
    auto next = std::ranges::lower_bound(scored, begin);
    for (std::int64_t row = begin; row < end; ++row) {
      if (next != scored.end() && *next == row) {
        std::memcpy(to + row * width, from + (next++ - scored.begin()) * width, row_bytes);
      } else {
        std::memset(to + row * width, 0, row_bytes);
      }
    }
  });
}

}  // namespace

bool CpuBlocks::is_adapted(std::int64_t layer, Projection first, int count) const {
  return std::ranges::any_of(adapters_, [&](const Adapter& adapter) {
    const auto& places = adapter.layout.layers[static_cast<std::size_t>(layer)];
    return std::any_of(places.begin() + static_cast<int>(first), places.begin() + static_cast<int>(first) + count,
                       [](const AdapterLayout::Place& place) { return place.a >= 0; });
  });
}

void CpuBlocks::project_gradient(const Rows& rows, std::int64_t layer, Projection first, int count, const float* x,
                                 const float* dy, float* dx, bool add, const CpuGradients& gradients) {
  const LayerLayout& places = base_.layout().layers[static_cast<std::size_t>(layer)];
  const int begin = static_cast<int>(first);
  const std::int64_t in = projection_shape(base_.description(), first).in;
  std::int64_t out = 0;
  for (int p = begin; p < begin + count; ++p) {
    out += projection_shape(base_.description(), static_cast<Projection>(p)).out;
  }
  if (dx != nullptr) base_.project_gradient(team_, layer, first, count, rows.count, dy, dx, add);
  if (gradients.base != nullptr) {
    linear_weight_gradient(team_, rows.count, dy, x, out, in, gradients.base + places.weight[begin],
                           places.bias[begin] < 0 ? nullptr : gradients.base + places.bias[begin]);
  }
  std::int64_t column = 0;
  for (int p = begin; p < begin + count; ++p) {
    const auto projection = static_cast<Projection>(p);
    const ProjectionShape shape = projection_shape(base_.description(), projection);
    for (const BatchPlan::Run& run : rows.runs) {
      const Adapter& adapter = adapters_[static_cast<std::size_t>(run.adapter)];
      if (adapter.layout.layers[static_cast<std::size_t>(layer)][static_cast<std::size_t>(p)].a < 0) continue;
      const float* part = dy + run.row * out;
      if (count > 1) {  // the columns of one projection
        float* gathered = d_part_.reserve(run.rows * shape.out);
        for (std::int64_t row = 0; row < run.rows; ++row) {
          std::memcpy(gathered + row * shape.out, part + row * out + column,
                      static_cast<std::size_t>(shape.out) * sizeof(float));
        }
        part = gathered;
      }
      add_adapter_gradient(team_, adapter, layer, projection, shape, run.rows, part, x + run.row * in,
                           dx == nullptr ? nullptr : dx + run.row * in,
                           gradients.adapters[static_cast<std::size_t>(run.adapter)], adapter_scratch_);
    }
    column += shape.out;
  }
}

void CpuBlocks::run_gradient(const BatchPlan& plan, std::int64_t layer, const float* x, BlockActivations& kept,
                             float* d_out, float* dx, const CpuGradients& gradients) {
  const std::int64_t rows = plan.rows();
  const Rows after = rows_after_attention(plan, layer);
  const LayerLayout& places = base_.layout().layers[static_cast<std::size_t>(layer)];
  const std::int64_t qkv_width = query_ + 2 * key_;
  // Below the lowest layer that learns nothing needs a gradient.
  const bool goes_on = gradients.base != nullptr || layer > gradients.first_layer;
  const bool attention_learns = goes_on || is_adapted(layer, Projection::q, 4);
  const bool gate_learns = attention_learns || is_adapted(layer, Projection::gate, 2);
  float* d_norm = d_norm_.reserve(rows * hidden_);
  float* d_wide = d_wide_.reserve(rows * std::max(query_, intermediate_));
  const auto base_gradient = [&](std::int64_t offset) {
    return gradients.base == nullptr ? nullptr : gradients.base + offset;
  };

  project_gradient(after, layer, Projection::down, 1, kept.activated.data(), d_out, gate_learns ? d_wide : nullptr,
                   false, gradients);
  if (!gate_learns) return;
  swiglu_gradient(team_, after.count, intermediate_, kept.gate.data(), kept.up.data(), d_wide, kept.gate.data(),
                  kept.up.data());
  float* d_norm2 = attention_learns ? d_norm : nullptr;
  project_gradient(after, layer, Projection::gate, 1, kept.norm2.data(), kept.gate.data(), d_norm2, false, gradients);
  project_gradient(after, layer, Projection::up, 1, kept.norm2.data(), kept.up.data(), d_norm2, true, gradients);
  if (!attention_learns) return;
  rms_norm_gradient(team_, after.count, hidden_, kept.middle.data(), base_.vector(places.post_attention_norm),
                    kept.inverse2.data(), d_norm, d_out, base_gradient(places.post_attention_norm));

  const bool qkv_learns = goes_on || is_adapted(layer, Projection::q, 3);
  const bool last = is_last(layer);
  const float* attention = last ? kept.attention_scored.data() : kept.attention.data();
  project_gradient(after, layer, Projection::o, 1, attention, d_out, qkv_learns ? d_wide : nullptr, false, gradients);
  if (!qkv_learns) return;
  if (last) {  // from the rows that went on to all
    float* d_attention = d_attention_.reserve(rows * query_);
    scatter_rows(team_, plan, query_, d_wide, d_attention);
    d_wide = d_attention;
    scatter_rows(team_, plan, hidden_, d_out, dx);
  }
  float* d_qkv = d_qkv_.reserve(rows * qkv_width);
  attention_gradients_.clear();
  for (std::size_t s = 0; s + 1 < plan.starts.size(); ++s) {
    const std::int64_t start = plan.starts[s];
    const float* qkv = kept.qkv.data() + start * qkv_width;
    float* d_start = d_qkv + start * qkv_width;
    AttentionGradient sequence;
    sequence.rows = plan.starts[s + 1] - start;
    sequence.q = qkv;
    sequence.k = qkv + query_;
    sequence.v = qkv + query_ + key_;
    sequence.out = kept.attention.data() + start * query_;
    sequence.log_sum = kept.log_sum.data() + start * shape_.heads;
    sequence.dout = d_wide + start * query_;
    sequence.dq = d_start;
    sequence.dk = d_start + query_;
    sequence.dv = d_start + query_ + key_;
    sequence.q_stride = qkv_width;
    sequence.kv_stride = qkv_width;
    sequence.out_stride = query_;
    attention_gradients_.push_back(sequence);
  }
  attend_gradient(team_, shape_, attention_gradients_);
  rotate(team_, *rotary_, plan.positions, d_qkv, qkv_width, shape_.heads + shape_.kv_heads, true);
  project_gradient({rows, plan.runs}, layer, Projection::q, 3, kept.norm1.data(), d_qkv, goes_on ? d_norm : nullptr,
                   false, gradients);
  if (!goes_on) return;
  rms_norm_gradient(team_, rows, hidden_, x, base_.vector(places.input_norm), kept.inverse1.data(), d_norm, dx,
                    base_gradient(places.input_norm));
}

}  // namespace kw
