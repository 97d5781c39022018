#include "model/decoder/adapter_linear.h"

namespace kw {
namespace {

AdapterLayout::Place place_of(const Adapter& adapter, std::int64_t layer, Projection projection) {
  return adapter.layout.layers[static_cast<std::size_t>(layer)][static_cast<std::size_t>(projection)];
}

// low = scale * (x A^T)
float* compute_low(ThreadTeam& team, const Adapter& adapter, AdapterLayout::Place place, const ProjectionShape& shape,
                   std::int64_t rows, const float* x, std::int64_t x_stride, FloatBuffer& buffer) {
  const std::int64_t rank = adapter.layout.rank;
  float* low = buffer.reserve(rows * rank);
  linear(team, {x, x_stride, low, rank, rows}, adapter.values.data() + place.a, rank, shape.in, nullptr);
  for (std::int64_t i = 0; i < rows * rank; ++i) low[i] *= adapter.scale;
  return low;
}

}  // namespace

void add_adapter(ThreadTeam& team, const Adapter& adapter, std::int64_t layer, Projection projection,
                 const ProjectionShape& shape, const LinearRows& rows, AdapterScratch& scratch) {
  const auto place = place_of(adapter, layer, projection);
  if (place.a < 0 || rows.rows == 0) return;
  const std::int64_t rank = adapter.layout.rank;
  const float* low = compute_low(team, adapter, place, shape, rows.rows, rows.x, rows.x_stride, scratch.low);
  linear(team, {low, rank, rows.y, rows.y_stride, rows.rows}, adapter.values.data() + place.b, shape.out, rank, nullptr,
         true);
}

void add_adapter_gradient(ThreadTeam& team, const Adapter& adapter, std::int64_t layer, Projection projection,
                          const ProjectionShape& shape, std::int64_t rows, const float* dy, const float* x, float* dx,
                          float* gradients, AdapterScratch& scratch) {
  const auto place = place_of(adapter, layer, projection);
  if (place.a < 0 || rows == 0) return;
  const std::int64_t rank = adapter.layout.rank;
  const float* low = compute_low(team, adapter, place, shape, rows, x, shape.in, scratch.low);
  linear_weight_gradient(team, rows, dy, low, shape.out, rank, gradients + place.b, nullptr);
  float* dlow = scratch.low_gradient.reserve(rows * rank);
  linear_input_gradient(team, rows, dy, adapter.values.data() + place.b, shape.out, rank, dlow, false);
  for (std::int64_t i = 0; i < rows * rank; ++i) dlow[i] *= adapter.scale;
  linear_weight_gradient(team, rows, dlow, x, rank, shape.in, gradients + place.a, nullptr);
  if (dx != nullptr) {
    linear_input_gradient(team, rows, dlow, adapter.values.data() + place.a, rank, shape.in, dx, true);
  }
}

}  // namespace kw
