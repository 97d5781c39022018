#include "model/decoder/base_weights.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace kw {
namespace {

void expand(ThreadTeam& team, const PackedWeight& weight, float* out) {
  constexpr std::int64_t rows_in_part = 16;
  team.run((weight.out() + rows_in_part - 1) / rows_in_part, [&](std::int64_t part) {
    const std::int64_t end = std::min(weight.out(), (part + 1) * rows_in_part);
    for (std::int64_t row = part * rows_in_part; row < end; ++row) {
      weight.read_row(row, std::span(out + row * weight.in(), static_cast<std::size_t>(weight.in())));
    }
  });
}

}  // namespace

BaseWeights::BaseWeights(Parameters parameters)
    : description_(parameters.description),
      layout_(std::move(parameters.layout)),
      values_(std::move(parameters.values)) {}

Result<BaseWeights> BaseWeights::frozen(const ModelFiles& files) {
  BaseWeights base(files.description());
  std::vector<float> floats;
  for (const ParameterLayout::Place& place : base.layout_.places) {
    const Shape& shape = place.tensor.shape;
    const auto blocks = files.blocks(place.tensor.name);
    if (shape.size() == 2 && blocks) {
      base.packed_.emplace(place.offset, PackedWeight::from_blocks(blocks->format, blocks->bytes, shape[0], shape[1],
                                                                   blocks->row_order));
      continue;
    }
    floats.resize(static_cast<std::size_t>(element_count(shape).value()));
    KW_TRY_VOID(files.read(place.tensor.name, floats));
    if (shape.size() == 2) {
      base.packed_.emplace(place.offset, PackedWeight::from_floats(floats, shape[0], shape[1]));
    } else {
      base.vectors_.emplace(place.offset, floats);
    }
  }
  return base;
}

std::vector<float> BaseWeights::copy_values() const {
  if (is_flat()) return values_;
  std::vector<float> values(static_cast<std::size_t>(layout_.size));
  for (const auto& [offset, weight] : packed_) {
    for (std::int64_t row = 0; row < weight.out(); ++row) {
      weight.read_row(row, std::span(values).subspan(static_cast<std::size_t>(offset + row * weight.in()),
                                                     static_cast<std::size_t>(weight.in())));
    }
  }
  for (const auto& [offset, floats] : vectors_) std::ranges::copy(floats, values.begin() + offset);
  return values;
}

const float* BaseWeights::vector(std::int64_t offset) const {
  if (offset < 0) return nullptr;
  return is_flat() ? values_.data() + offset : vectors_.at(offset).data();
}

void BaseWeights::embed(ThreadTeam& team, std::span<const std::int32_t> tokens, float* out) const {
  constexpr std::size_t rows_in_part = 64;
  const auto hidden = static_cast<std::size_t>(description_.hidden);
  const PackedWeight* packed = is_flat() ? nullptr : &packed_.at(layout_.embedding);
  team.run(static_cast<std::int64_t>((tokens.size() + rows_in_part - 1) / rows_in_part), [&](std::int64_t part) {
    const std::size_t begin = static_cast<std::size_t>(part) * rows_in_part;
    for (std::size_t i = begin; i < std::min(tokens.size(), begin + rows_in_part); ++i) {
      const auto token = static_cast<std::size_t>(tokens[i]);
      if (packed != nullptr) {
        packed->read_row(tokens[i], std::span(out + i * hidden, hidden));
      } else {
        std::memcpy(out + i * hidden, values_.data() + static_cast<std::size_t>(layout_.embedding) + token * hidden,
                    hidden * sizeof(float));
      }
    }
  });
}

void BaseWeights::project(ThreadTeam& team, std::int64_t layer, Projection first, int count,
                          const LinearRows& rows) const {
  const LayerLayout& places = layout_.layers[static_cast<std::size_t>(layer)];
  const int begin = static_cast<int>(first);
  if (is_flat()) {
    const std::int64_t in = projection_shape(description_, first).in;
    std::int64_t out = 0;
    for (int p = begin; p < begin + count; ++p) out += projection_shape(description_, static_cast<Projection>(p)).out;
    linear(team, rows, values_.data() + places.weight[begin], out, in, vector(places.bias[begin]));
    return;
  }
  LinearRows part = rows;
  for (int p = begin; p < begin + count; ++p) {
    const PackedWeight& weight = packed_.at(places.weight[p]);
    linear(team, part, weight, vector(places.bias[p]));
    part.y += weight.out();
  }
}

void BaseWeights::project_output(ThreadTeam& team, const LinearRows& rows) const {
  if (is_flat()) {
    linear(team, rows, values_.data() + layout_.output, description_.vocabulary, description_.hidden, nullptr);
  } else {
    linear(team, rows, packed_.at(layout_.output), nullptr);
  }
}

void BaseWeights::project_gradient(ThreadTeam& team, std::int64_t layer, Projection first, int count, std::int64_t rows,
                                   const float* dy, float* dx, bool add) {
  const LayerLayout& places = layout_.layers[static_cast<std::size_t>(layer)];
  const int begin = static_cast<int>(first);
  if (!is_flat() && count == 1) {
    linear_input_gradient(team, rows, dy, packed_.at(places.weight[begin]), dx, add);
    return;
  }
  const std::int64_t in = projection_shape(description_, first).in;
  std::int64_t out = 0;
  for (int p = begin; p < begin + count; ++p) out += projection_shape(description_, static_cast<Projection>(p)).out;
  const float* weight = nullptr;
  if (is_flat()) {
    weight = values_.data() + places.weight[begin];
  } else {  // one chain over all outputs, as from flat weights: the sum is the same to the last bit
    float* next = expanded_.reserve(out * in);
    weight = next;
    for (int p = begin; p < begin + count; ++p) {
      const PackedWeight& packed = packed_.at(places.weight[p]);
      expand(team, packed, next);
      next += packed.out() * in;
    }
  }
  linear_input_gradient(team, rows, dy, weight, out, in, dx, add);
}

void BaseWeights::output_gradient(ThreadTeam& team, std::int64_t rows, const float* dy, float* dx) const {
  if (is_flat()) {
    linear_input_gradient(team, rows, dy, values_.data() + layout_.output, description_.vocabulary, description_.hidden,
                          dx, false);
  } else {
    linear_input_gradient(team, rows, dy, packed_.at(layout_.output), dx, false);
  }
}

}  // namespace kw
