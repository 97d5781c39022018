#include "model/decoder/nf4_base.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

namespace kw {
namespace {

std::set<std::int64_t> linear_offsets(const ParameterLayout& layout) {
  std::set<std::int64_t> offsets;
  for (const LayerLayout& layer : layout.layers) offsets.insert(std::begin(layer.weight), std::end(layer.weight));
  return offsets;
}

Result<void> check_stored(const ModelFiles& files, const std::string& name) {
  const auto blocks = files.blocks(name);
  using enum BlockFormat;
  if (!blocks || blocks->format == f32 || blocks->format == f16 || blocks->format == bf16) return {};
  return Error{"'" + name + "' is stored in blocks that are not NF4: it would be rounded a second time",
               "take the model's folder in bf16, or what `kernelwright model quantize` makes of it",
               {}};
}

Result<Nf4Tensor> read_matrix(const ModelFiles& files, const NamedShape& tensor) {
  KW_TRY(std::optional<Nf4Tensor> stored, files.nf4(tensor.name));
  if (stored) {
    if (stored->shape != tensor.shape)
      return Error{"the tensor '" + tensor.name + "' has another shape than the model needs", "", {}};
    return *std::move(stored);
  }
  KW_TRY_VOID(check_stored(files, tensor.name));
  std::vector<float> values(static_cast<std::size_t>(element_count(tensor.shape).value()));
  KW_TRY_VOID(files.read(tensor.name, values));
  return quantise_nf4(values, tensor.shape, ElementType::bf16);
}

}  // namespace

Result<Nf4Base> load_nf4_base(ThreadTeam& team, const ModelFiles& files, const LoadProgress& progress) {
  Nf4Base base(files.description());
  const std::set<std::int64_t> linear = linear_offsets(base.layout);
  const auto& places = base.layout.places;
  const auto all_bytes = base.layout.size * static_cast<std::int64_t>(sizeof(float));
  std::mutex lock;
  std::optional<Error> failed;
  std::int64_t done_bytes = 0;
  team.run(static_cast<std::int64_t>(places.size()), [&](std::int64_t i) {
    const ParameterLayout::Place& place = places[static_cast<std::size_t>(i)];
    const std::int64_t count = element_count(place.tensor.shape).value();
    const auto finish = [&](const auto& result, auto keep) {
      const std::lock_guard guard(lock);
      if (!result.ok() && !failed) failed = result.error();
      if (!result.ok()) return;
      keep();
      done_bytes += count * static_cast<std::int64_t>(sizeof(float));
      if (progress) progress(done_bytes, all_bytes);
    };
    if (linear.contains(place.offset)) {
      auto matrix = read_matrix(files, place.tensor);
      finish(matrix, [&] { base.matrices.emplace(place.offset, std::move(*matrix)); });
      return;
    }
    std::vector<float> values(static_cast<std::size_t>(count));
    const auto read = files.read(place.tensor.name, values);
    finish(read, [&] { base.others.emplace(place.offset, std::move(values)); });
  });
  if (failed) return *failed;
  return base;
}

Nf4Base quantise_base(ThreadTeam& team, const Parameters& parameters) {
  Nf4Base base(parameters.description);
  const std::set<std::int64_t> linear = linear_offsets(base.layout);
  const auto& places = base.layout.places;
  std::mutex lock;
  team.run(static_cast<std::int64_t>(places.size()), [&](std::int64_t i) {
    const ParameterLayout::Place& place = places[static_cast<std::size_t>(i)];
    const auto values = std::span(parameters.values)
                            .subspan(static_cast<std::size_t>(place.offset),
                                     static_cast<std::size_t>(element_count(place.tensor.shape).value()));
    if (!linear.contains(place.offset)) {
      std::vector<float> copy(values.begin(), values.end());
      const std::lock_guard guard(lock);
      base.others.emplace(place.offset, std::move(copy));
      return;
    }
    Nf4Tensor matrix = quantise_nf4(values, place.tensor.shape, ElementType::bf16);
    const std::lock_guard guard(lock);
    base.matrices.emplace(place.offset, std::move(matrix));
  });
  return base;
}

Parameters expand_base(const Nf4Base& base) {
  Parameters parameters(base.description);
  for (const auto& [offset, matrix] : base.matrices)
    dequantise_nf4(matrix, parameters.at(offset, element_count(matrix.shape).value()));
  for (const auto& [offset, values] : base.others) std::ranges::copy(values, parameters.values.begin() + offset);
  return parameters;
}

}  // namespace kw
