#include "model/decoder/adapter.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace kw {
namespace {

std::string module_path(std::int64_t layer, Projection projection) {
  const bool attention = static_cast<int>(projection) <= static_cast<int>(Projection::o);
  return "model.layers." + std::to_string(layer) + (attention ? ".self_attn." : ".mlp.") +
         std::string(to_string(projection));
}

// Gives the layer's projection its place behind all that were placed before.
void place(AdapterLayout& layout, const ModelDescription& description, std::size_t layer, Projection projection) {
  const ProjectionShape shape = projection_shape(description, projection);
  AdapterLayout::Place& where = layout.layers[layer][static_cast<std::size_t>(projection)];
  where.a = layout.size;
  where.b = where.a + layout.rank * shape.in;
  layout.size = where.b + layout.rank * shape.out;
}

template <class Visit>
void for_each_place(const ModelDescription& description, Visit&& visit) {
  for (std::int64_t layer = 0; layer < description.layers; ++layer) {
    for (int p = 0; p < projection_count; ++p) visit(layer, static_cast<Projection>(p));
  }
}

std::span<float> values_at(Adapter& adapter, std::int64_t offset, std::int64_t count) {
  return std::span(adapter.values).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
}

}  // namespace

Adapter make_adapter(const ModelDescription& description, std::string name, std::int64_t rank, float alpha,
                     const std::vector<Projection>& targets, std::uint64_t seed) {
  KW_CHECK(rank >= 1);
  Adapter adapter;
  adapter.name = std::move(name);
  adapter.scale = alpha / static_cast<float>(rank);
  adapter.layout.rank = rank;
  adapter.layout.layers.resize(static_cast<std::size_t>(description.layers));
  for_each_place(description, [&](std::int64_t layer, Projection p) {
    if (std::ranges::find(targets, p) != targets.end()) {
      place(adapter.layout, description, static_cast<std::size_t>(layer), p);
    }
  });
  adapter.values.resize(static_cast<std::size_t>(adapter.layout.size));
  for_each_place(description, [&](std::int64_t layer, Projection p) {
    const auto where = adapter.layout.layers[static_cast<std::size_t>(layer)][static_cast<std::size_t>(p)];
    if (where.a < 0) return;
    const std::int64_t in = projection_shape(description, p).in;
    const double bound = std::sqrt(1.0 / static_cast<double>(in));
    Random random(seed, static_cast<std::uint64_t>(layer * projection_count + static_cast<int>(p)));
    for (float& value : values_at(adapter, where.a, rank * in))
      value = static_cast<float>(random.uniform(-bound, bound));
  });
  return adapter;
}

Result<Adapter> adapter_from(const LoraAdapter& file, const ModelDescription& description, std::string name) {
  Adapter adapter;
  adapter.name = std::move(name);
  adapter.scale = static_cast<float>(lora_scale(file));
  adapter.layout.rank = file.rank;
  adapter.layout.layers.resize(static_cast<std::size_t>(description.layers));
  std::size_t used = 0;
  std::optional<Error> wrong;
  for_each_place(description, [&](std::int64_t layer, Projection p) {
    const auto found = file.modules.find(module_path(layer, p));
    if (found == file.modules.end() || wrong) return;
    const LoraMatrices& matrices = found->second;
    const ProjectionShape shape = projection_shape(description, p);
    if (matrices.in != shape.in || matrices.out != shape.out ||
        static_cast<std::int64_t>(matrices.a.size()) != file.rank * shape.in ||
        static_cast<std::int64_t>(matrices.b.size()) != file.rank * shape.out) {
      wrong = Error{"the adapter of '" + found->first + "' is made for a layer of " + std::to_string(matrices.in) +
                        " to " + std::to_string(matrices.out) + " elements, the model has " + std::to_string(shape.in) +
                        " to " + std::to_string(shape.out),
                    "use it with the model that it was trained on",
                    {}};
      return;
    }
    place(adapter.layout, description, static_cast<std::size_t>(layer), p);
    const auto where = adapter.layout.layers[static_cast<std::size_t>(layer)][static_cast<std::size_t>(p)];
    adapter.values.resize(static_cast<std::size_t>(adapter.layout.size));
    std::ranges::copy(matrices.a, values_at(adapter, where.a, file.rank * shape.in).begin());
    std::ranges::copy(matrices.b, values_at(adapter, where.b, file.rank * shape.out).begin());
    ++used;
  });
  if (wrong) return *wrong;
  if (used != file.modules.size()) {
    for (const auto& [path, matrices] : file.modules) {
      bool known = false;
      for_each_place(description,
                     [&, &path = path](std::int64_t layer, Projection p) { known |= module_path(layer, p) == path; });
      if (!known)
        return Error{"the adapter's module '" + path + "' is no linear layer of a block of this model", "", {}};
    }
  }
  return adapter;
}

LoraAdapter to_lora_adapter(const Adapter& adapter, const ModelDescription& description) {
  LoraAdapter file;
  file.rank = adapter.layout.rank;
  file.alpha = static_cast<double>(adapter.scale) * static_cast<double>(file.rank);
  file.target_modules = std::vector<std::string>();
  for_each_place(description, [&](std::int64_t layer, Projection p) {
    const auto where = adapter.layout.layers[static_cast<std::size_t>(layer)][static_cast<std::size_t>(p)];
    if (where.a < 0) return;
    const ProjectionShape shape = projection_shape(description, p);
    const float* a = adapter.values.data() + where.a;
    const float* b = adapter.values.data() + where.b;
    file.modules[module_path(layer, p)] = {shape.in, shape.out, std::vector<float>(a, a + file.rank * shape.in),
                                           std::vector<float>(b, b + file.rank * shape.out)};
  });
  return file;
}

}  // namespace kw
