#include "model/decoder/cpu_pass.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kw {
namespace {

constexpr std::int64_t part_floats = 1 << 14;  // of loops over plain floats

// out = a + b
void add(ThreadTeam& team, std::int64_t count, const float* a, const float* b, float* out) {
  team.run((count + part_floats - 1) / part_floats, [&](std::int64_t part) {
    const std::int64_t end = std::min(count, (part + 1) * part_floats);
    for (std::int64_t i = part * part_floats; i < end; ++i) out[i] = a[i] + b[i];
  });
}

float* gather_rows(ThreadTeam& team, std::span<const std::int64_t> rows, std::int64_t width, const float* from,
                   float* to) {
  constexpr std::size_t rows_in_part = 64;
  team.run(static_cast<std::int64_t>((rows.size() + rows_in_part - 1) / rows_in_part), [&](std::int64_t part) {
    const std::size_t begin = static_cast<std::size_t>(part) * rows_in_part;
    for (std::size_t i = begin; i < std::min(rows.size(), begin + rows_in_part); ++i) {
      std::memcpy(to + static_cast<std::int64_t>(i) * width, from + rows[i] * width,
                  static_cast<std::size_t>(width) * sizeof(float));
    }
  });
  return to;
}

}  // namespace

CpuBlocks::CpuBlocks(ThreadTeam& team, BaseWeights& base, const std::vector<Adapter>& adapters)
    : team_(team), base_(base), adapters_(adapters) {
  const ModelDescription& model = base.description();
  shape_ = {model.heads, model.kv_heads, model.head_dim, 1.0f / std::sqrt(static_cast<float>(model.head_dim))};
  hidden_ = model.hidden;
  query_ = model.heads * model.head_dim;
  key_ = model.kv_heads * model.head_dim;
  intermediate_ = model.intermediate;
}

void CpuBlocks::prepare(const BatchPlan& plan) {
  std::int64_t longest = 1;
  std::size_t pages = 0;
  first_page_.assign(1, 0);
  for (std::int64_t s = 0; s < plan.sequences(); ++s) {
    const std::int64_t length = plan.starts[static_cast<std::size_t>(s) + 1] - plan.starts[static_cast<std::size_t>(s)];
    longest = std::max(longest, length);
    pages += static_cast<std::size_t>((length + page_tokens - 1) / page_tokens);
    first_page_.push_back(pages);
  }
  if (longest > rotary_positions_) {
    rotary_positions_ = std::min(std::max(longest, 2 * rotary_positions_), base_.description().context);
    rotary_ = std::make_unique<RotaryTable>(shape_.head_dim, base_.description().rope_base, rotary_positions_);
  }
  const std::int64_t page_floats = shape_.page_floats();
  float* keys = page_keys_.reserve(static_cast<std::int64_t>(pages) * page_floats);
  float* values = page_values_.reserve(static_cast<std::int64_t>(pages) * page_floats);
  pages_.clear();
  page_sequence_.clear();
  for (std::size_t s = 0; s + 1 < first_page_.size(); ++s) {
    page_sequence_.insert(page_sequence_.end(), first_page_[s + 1] - first_page_[s], static_cast<std::int32_t>(s));
  }
  for (std::size_t i = 0; i < pages; ++i) {
    const auto at = static_cast<std::int64_t>(i) * page_floats;
    pages_.push_back({keys + at, values + at});
  }
  // Slots behind a sequence's last token are read, though they count for nothing: they must be finite.
  for (std::size_t s = 0; s + 1 < first_page_.size(); ++s) {
    const KvPage& last = pages_[first_page_[s + 1] - 1];
    std::fill_n(last.keys, page_floats, 0.0f);
    std::fill_n(last.values, page_floats, 0.0f);
  }
}

void CpuBlocks::write_pages(const BatchPlan& plan, const float* qkv) {
  const std::int64_t stride = query_ + 2 * key_;
  team_.run(static_cast<std::int64_t>(pages_.size()), [&](std::int64_t page) {
    const auto p = static_cast<std::size_t>(page);
    const auto s = static_cast<std::size_t>(page_sequence_[p]);
    const std::int64_t first = plan.starts[s] + static_cast<std::int64_t>(p - first_page_[s]) * page_tokens;
    const std::int64_t end = std::min(first + page_tokens, plan.starts[s + 1]);
    for (std::int64_t row = first; row < end; ++row) {
      const float* key = qkv + row * stride + query_;
      write_token(shape_, pages_[p], row - first, key, key + key_);
    }
  });
}

CpuBlocks::Rows CpuBlocks::rows_after_attention(const BatchPlan& plan, std::int64_t layer) const {
  if (is_last(layer)) return {plan.scored(), plan.scored_runs};
  return {plan.rows(), plan.runs};
}

void CpuBlocks::project(const Rows& rows, std::int64_t layer, Projection first, int count, const float* x, float* y) {
  const std::int64_t in = projection_shape(base_.description(), first).in;
  std::int64_t out = 0;
  for (int i = 0; i < count; ++i) {
    out += projection_shape(base_.description(), static_cast<Projection>(static_cast<int>(first) + i)).out;
  }
  base_.project(team_, layer, first, count, {x, in, y, out, rows.count});
  std::int64_t column = 0;
  for (int i = 0; i < count; ++i) {
    const auto projection = static_cast<Projection>(static_cast<int>(first) + i);
    const ProjectionShape shape = projection_shape(base_.description(), projection);
    for (const BatchPlan::Run& run : rows.runs) {
      add_adapter(team_, adapters_[static_cast<std::size_t>(run.adapter)], layer, projection, shape,
                  {x + run.row * in, in, y + run.row * out + column, out, run.rows}, adapter_scratch_);
    }
    column += shape.out;
  }
}

void CpuBlocks::run(const BatchPlan& plan, std::int64_t layer, const float* x, BlockActivations& kept, float* out) {
  const std::int64_t rows = plan.rows();
  const LayerLayout& places = base_.layout().layers[static_cast<std::size_t>(layer)];
  const auto epsilon = static_cast<float>(base_.description().rms_epsilon);
  const std::int64_t qkv_width = query_ + 2 * key_;
  float* norm1 = kept.norm1.reserve(rows * hidden_);
  float* qkv = kept.qkv.reserve(rows * qkv_width);
  float* attention = kept.attention.reserve(rows * query_);
  float* log_sum = kept.log_sum.reserve(rows * shape_.heads);

  rms_norm(team_, rows, hidden_, x, base_.vector(places.input_norm), epsilon, norm1, kept.inverse1.reserve(rows));
  project({rows, plan.runs}, layer, Projection::q, 3, norm1, qkv);
  // q and k lie side by side: their heads are turned in one go.
  rotate(team_, *rotary_, plan.positions, qkv, qkv_width, shape_.heads + shape_.kv_heads);
  write_pages(plan, qkv);
  attention_rows_.clear();
  for (std::size_t s = 0; s + 1 < plan.starts.size(); ++s) {
    const std::int64_t start = plan.starts[s];
    attention_rows_.push_back({qkv + start * qkv_width, qkv_width, attention + start * query_, query_,
                               log_sum + start * shape_.heads, plan.starts[s + 1] - start, 0,
                               std::span(pages_).subspan(first_page_[s], first_page_[s + 1] - first_page_[s])});
  }
  attend(team_, shape_, attention_rows_);

  const Rows after = rows_after_attention(plan, layer);
  if (is_last(layer)) {
    x = gather_rows(team_, plan.scored_rows, hidden_, x, entered_.reserve(after.count * hidden_));
    attention =
        gather_rows(team_, plan.scored_rows, query_, attention, kept.attention_scored.reserve(after.count * query_));
  }
  float* middle = kept.middle.reserve(after.count * hidden_);
  float* norm2 = kept.norm2.reserve(after.count * hidden_);
  float* gate = kept.gate.reserve(after.count * intermediate_);
  float* up = kept.up.reserve(after.count * intermediate_);
  float* activated = kept.activated.reserve(after.count * intermediate_);
  float* update = update_.reserve(after.count * hidden_);
  project(after, layer, Projection::o, 1, attention, update);
  add(team_, after.count * hidden_, x, update, middle);

  rms_norm(team_, after.count, hidden_, middle, base_.vector(places.post_attention_norm), epsilon, norm2,
           kept.inverse2.reserve(after.count));
  project(after, layer, Projection::gate, 1, norm2, gate);
  project(after, layer, Projection::up, 1, norm2, up);
  swiglu(team_, after.count, intermediate_, gate, up, activated);
  if (out == nullptr) return;
  project(after, layer, Projection::down, 1, activated, update);
  add(team_, after.count * hidden_, middle, update, out);
}

}  // namespace kw
