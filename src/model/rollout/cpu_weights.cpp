#include "model/rollout/cpu_weights.h"

#include <algorithm>
#include <functional>
#include <map>

namespace kw {
namespace {

// Where tensors come from, by their offset in the layout.
struct Source {
  std::function<Result<std::vector<float>>(std::int64_t offset, std::int64_t count)> floats;
  std::function<std::optional<ModelFiles::Blocks>(std::int64_t offset)> blocks;
};

bool same_format(const Source& source, std::span<const std::int64_t> offsets) {
  const auto first = source.blocks(offsets[0]);
  return std::ranges::all_of(offsets, [&](std::int64_t offset) {
    const auto blocks = source.blocks(offset);
    return blocks.has_value() == first.has_value() && (!first || blocks->format == first->format);
  });
}

// Weights (out, in) of the same `in` and the same format, one below the other.
Result<PackedWeight> pack_joined(const Source& source, std::span<const std::int64_t> offsets,
                                 std::span<const std::int64_t> outs, std::int64_t in) {
  std::int64_t out = 0;
  std::vector<std::byte> bytes;
  std::vector<float> floats;
  std::vector<std::int64_t> order;
  BlockFormat format = BlockFormat::f32;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (const auto blocks = source.blocks(offsets[i])) {
      format = blocks->format;
      bytes.insert(bytes.end(), blocks->bytes.begin(), blocks->bytes.end());
      for (std::int64_t row = 0; row < outs[i]; ++row) {
        order.push_back(out + (blocks->row_order.empty() ? row : blocks->row_order[static_cast<std::size_t>(row)]));
      }
    } else {
      KW_TRY(const std::vector<float> values, source.floats(offsets[i], outs[i] * in));
      floats.insert(floats.end(), values.begin(), values.end());
    }
    out += outs[i];
  }
  if (bytes.empty()) return PackedWeight::from_floats(floats, out, in);
  return PackedWeight::from_blocks(format, bytes, out, in, order);
}

Result<PackedWeight> pack_one(const Source& source, std::int64_t offset, std::int64_t out, std::int64_t in) {
  return pack_joined(source, {&offset, 1}, {&out, 1}, in);
}

Result<CpuLayerWeights> pack_layer(const Source& source, const ModelDescription& model, const LayerLayout& places) {
  CpuLayerWeights layer;
  KW_TRY(layer.input_norm, source.floats(places.input_norm, model.hidden));
  KW_TRY(layer.post_attention_norm, source.floats(places.post_attention_norm, model.hidden));
  for (std::size_t g = 0; g < projection_groups.size(); ++g) {
    const int first = static_cast<int>(projection_groups[g].first);
    std::vector<std::int64_t> offsets, outs;
    for (int p = first; p < first + projection_groups[g].count; ++p) {
      const ProjectionShape shape = projection_shape(model, static_cast<Projection>(p));
      offsets.push_back(places.weight[p]);
      outs.push_back(shape.out);
      if (places.bias[p] < 0) continue;
      KW_TRY(const std::vector<float> bias, source.floats(places.bias[p], shape.out));
      auto& all = layer.bias[static_cast<std::size_t>(g == 0 ? 0 : p)];
      all.insert(all.end(), bias.begin(), bias.end());
    }
    const std::int64_t in = projection_shape(model, projection_groups[g].first).in;
    if (static_cast<GroupName>(g) == GroupName::qkv && same_format(source, offsets)) {
      KW_TRY(PackedWeight joined, pack_joined(source, offsets, outs, in));
      layer.parts[g].push_back(std::move(joined));
      continue;
    }
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      KW_TRY(PackedWeight packed, pack_one(source, offsets[i], outs[i], in));
      layer.parts[g].push_back(std::move(packed));
    }
  }
  return layer;
}

Result<CpuWeights> pack(const Source& source, const ModelDescription& model, const ParameterLayout& layout) {
  CpuWeights weights;
  for (const LayerLayout& places : layout.layers) {
    KW_TRY(CpuLayerWeights layer, pack_layer(source, model, places));
    weights.layers.push_back(std::move(layer));
  }
  KW_TRY(weights.final_norm, source.floats(layout.final_norm, model.hidden));
  KW_TRY(weights.output, pack_one(source, layout.output, model.vocabulary, model.hidden));
  if (layout.output != layout.embedding) {
    KW_TRY(weights.embedding, pack_one(source, layout.embedding, model.vocabulary, model.hidden));
  }
  return weights;
}

}  // namespace

std::size_t CpuWeights::bytes() const {
  std::size_t sum = output.bytes() + embedding.bytes();
  for (const CpuLayerWeights& layer : layers) {
    for (const auto& parts : layer.parts) {
      for (const PackedWeight& part : parts) sum += part.bytes();
    }
  }
  return sum;
}

Result<CpuWeights> pack_weights(const ModelFiles& files) {
  const ParameterLayout layout(files.description());
  std::map<std::int64_t, std::string> names;
  for (const auto& place : layout.places) names.emplace(place.offset, place.tensor.name);
  Source source;
  source.floats = [&](std::int64_t offset, std::int64_t count) -> Result<std::vector<float>> {
    std::vector<float> values(static_cast<std::size_t>(count));
    KW_TRY_VOID(files.read(names.at(offset), values));
    return values;
  };
  source.blocks = [&](std::int64_t offset) { return files.blocks(names.at(offset)); };
  return pack(source, files.description(), layout);
}

CpuWeights pack_weights(const Parameters& parameters) {
  Source source;
  source.floats = [&](std::int64_t offset, std::int64_t count) -> Result<std::vector<float>> {
    const auto begin = parameters.values.begin() + offset;
    return std::vector<float>(begin, begin + count);
  };
  source.blocks = [](std::int64_t) { return std::optional<ModelFiles::Blocks>(); };
  return std::move(pack(source, parameters.description, parameters.layout)).value();
}

Result<CpuAdapter> pack_adapter(const Adapter& adapter, const ModelDescription& description) {
  const Error refused{"the adapter '" + adapter.name + "' is not made for this model", "", {}};
  if (static_cast<std::int64_t>(adapter.layout.layers.size()) != description.layers || adapter.layout.rank < 1 ||
      static_cast<std::int64_t>(adapter.values.size()) != adapter.layout.size) {
    return refused;
  }
  CpuAdapter packed;
  packed.rank = adapter.layout.rank;
  packed.scale = adapter.scale;
  const std::span<const float> values(adapter.values);
  const auto part = [&](std::int64_t offset, std::int64_t count) {
    return values.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
  };
  for (const auto& places : adapter.layout.layers) {
    CpuAdapterLayer layer;
    for (std::size_t g = 0; g < projection_groups.size(); ++g) {
      std::vector<float> a;
      std::int64_t rows = 0;
      const int first = static_cast<int>(projection_groups[g].first);
      const std::int64_t in = projection_shape(description, projection_groups[g].first).in;
      for (int p = first; p < first + projection_groups[g].count; ++p) {
        const auto index = static_cast<std::size_t>(p);
        const AdapterLayout::Place place = places[index];
        if (place.a < 0) continue;
        const std::int64_t out = projection_shape(description, static_cast<Projection>(p)).out;
        if (place.a + packed.rank * in > adapter.layout.size || place.b < 0 ||
            place.b + packed.rank * out > adapter.layout.size) {
          return refused;
        }
        const auto a_values = part(place.a, packed.rank * in);
        a.insert(a.end(), a_values.begin(), a_values.end());
        rows += packed.rank;
        layer.b[index] = PackedWeight::from_floats(part(place.b, packed.rank * out), out, packed.rank);
      }
      if (rows > 0) layer.a[g] = PackedWeight::from_floats(a, rows, in);
    }
    packed.layers.push_back(std::move(layer));
  }
  return packed;
}

}  // namespace kw
