#include "model/decoder/presets.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace kw {
namespace {

struct Preset {
  std::string_view name;
  Architecture architecture;
  std::int64_t hidden, layers, heads, kv_heads, head_dim;
  std::int64_t intermediate;  // our own: 8/3 of hidden, rounded up to 32
  std::int64_t vocabulary;    // 0: the caller's
  std::int64_t context;
  double rope_base, rms_epsilon;
  bool tied;
};

constexpr auto llama = Architecture::llama;
constexpr auto qwen2 = Architecture::qwen2;
constexpr Preset presets[] = {
    {"tiny-1m", llama, 128, 4, 4, 2, 32, 352, 0, 2048, 1e4, 1e-6, true},
    {"tiny-3m", llama, 192, 6, 6, 2, 32, 512, 0, 2048, 1e4, 1e-6, true},
    {"tiny-6m", llama, 256, 6, 8, 2, 32, 704, 0, 2048, 1e4, 1e-6, true},
    {"small-30m", llama, 512, 8, 8, 4, 64, 1376, 0, 4096, 1e4, 1e-6, true},
    {"small-60m", llama, 640, 12, 10, 5, 64, 1728, 0, 4096, 1e4, 1e-6, true},
    {"smollm2-135m", llama, 576, 30, 9, 3, 64, 1536, 49152, 8192, 1e5, 1e-5, true},
    {"qwen2.5-coder-0.5b", qwen2, 896, 24, 14, 2, 64, 4864, 151936, 32768, 1e6, 1e-6, true},
    {"qwen2.5-coder-1.5b", qwen2, 1536, 28, 12, 2, 128, 8960, 151936, 32768, 1e6, 1e-6, true},
    {"qwen2.5-coder-3b", qwen2, 2048, 36, 16, 2, 128, 11008, 151936, 32768, 1e6, 1e-6, true},
    {"qwen2.5-coder-7b", qwen2, 3584, 28, 28, 4, 128, 18944, 152064, 32768, 1e6, 1e-6, false},
};

}  // namespace

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names;
  for (const Preset& preset : presets) names.push_back(preset.name);
  return names;
}

Result<ModelDescription> preset_description(std::string_view name, std::int64_t vocabulary) {
  const auto* preset = std::ranges::find(presets, name, &Preset::name);
  if (preset == std::end(presets)) {
    std::string known;
    for (const Preset& other : presets) known += (known.empty() ? "" : ", ") + std::string(other.name);
    return Error{"there is no preset '" + std::string(name.substr(0, 100)) + "'", "one of " + known, {}};
  }
  ModelDescription description;
  description.architecture = preset->architecture;
  description.layers = preset->layers;
  description.hidden = preset->hidden;
  description.heads = preset->heads;
  description.kv_heads = preset->kv_heads;
  description.head_dim = preset->head_dim;
  description.intermediate = preset->intermediate;
  description.vocabulary = preset->vocabulary != 0 ? preset->vocabulary : vocabulary;
  description.context = preset->context;
  description.rope_base = preset->rope_base;
  description.rms_epsilon = preset->rms_epsilon;
  description.tied_embeddings = preset->tied;
  description.attention_bias = preset->architecture == Architecture::qwen2;
  KW_TRY_VOID(check_description(description));
  return description;
}

Parameters initial_parameters(ThreadTeam& team, const ModelDescription& description, std::uint64_t seed) {
  Parameters parameters(description);
  // A piece has random numbers of its own, so pieces can be made in any order.
  constexpr std::int64_t piece_elements = 1 << 14;
  struct Piece {
    std::int64_t offset, count;
    double deviation;  // 0: `constant`
    float constant;
    std::uint64_t stream;
  };
  std::vector<Piece> pieces;
  const double residual = 0.02 / std::sqrt(2.0 * static_cast<double>(description.layers));
  std::uint64_t tensor_index = 0;
  for (const ParameterLayout::Place& place : parameters.layout.places) {
    const std::string& name = place.tensor.name;
    const bool is_matrix = place.tensor.shape.size() == 2;
    const bool is_residual = name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
    const float constant = name.ends_with(".bias") ? 0.0f : 1.0f;
    const std::int64_t all = element_count(place.tensor.shape).value();
    for (std::int64_t begin = 0; begin < all; begin += piece_elements) {
      pieces.push_back({place.offset + begin, std::min(piece_elements, all - begin),
                        is_matrix ? (is_residual ? residual : 0.02) : 0, constant,
                        (tensor_index << 32) + static_cast<std::uint64_t>(begin / piece_elements)});
    }
    ++tensor_index;
  }
  team.run(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t part) {
    const Piece& piece = pieces[static_cast<std::size_t>(part)];
    Random random(seed, piece.stream);
    for (float& value : parameters.at(piece.offset, piece.count)) {
      value = piece.deviation == 0 ? piece.constant : static_cast<float>(random.normal() * piece.deviation);
    }
  });
  return parameters;
}

}  // namespace kw
