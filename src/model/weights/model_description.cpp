#include "model/weights/model_description.h"

#include <algorithm>
#include <cmath>

namespace kw {

std::string_view to_string(Architecture architecture) {
  return architecture == Architecture::llama ? "llama" : "qwen2";
}

Result<void> check_description(const ModelDescription& description) {
  // Ten times beyond the largest published model of the family, and small enough for every product to fit 63 bits.
  struct Range {
    const char* name;
    std::int64_t value;
    std::int64_t largest;
  };
  const Range ranges[] = {
      {"number of layers", description.layers, 2'000},
      {"hidden size", description.hidden, 1 << 18},
      {"number of heads", description.heads, 1 << 12},
      {"number of key-value heads", description.kv_heads, 1 << 12},
      {"head size", description.head_dim, 1 << 12},
      {"intermediate size", description.intermediate, 1 << 20},
      {"vocabulary size", description.vocabulary, 1 << 24},
      {"context length", description.context, std::int64_t{1} << 31},
  };
  for (const Range& range : ranges) {
    if (range.value < 1 || range.value > range.largest) {
      return Error{"the " + std::string(range.name) + " is " + std::to_string(range.value) + ", not from 1 to " +
                       std::to_string(range.largest),
                   "",
                   {}};
    }
  }
  if (description.heads % description.kv_heads != 0) {
    return Error{"the number of key-value heads (" + std::to_string(description.kv_heads) +
                     ") does not divide the number of heads (" + std::to_string(description.heads) + ")",
                 "",
                 {}};
  }
  if (description.head_dim % 2 != 0) return Error{"the head size is odd: rotary embeddings need pairs", "", {}};
  if (!(description.rope_base > 0) || !std::isfinite(description.rope_base)) {
    return Error{"the rope base is not a positive number", "", {}};
  }
  if (!(description.rms_epsilon >= 0) || !(description.rms_epsilon < 1)) {
    return Error{"the epsilon of RMSNorm is not from 0 to 1", "", {}};
  }
  const auto is_token = [&](std::int64_t id) { return id >= 0 && id < description.vocabulary; };
  if (description.bos_id && !is_token(*description.bos_id)) {
    return Error{"the id of the first token is outside of the vocabulary", "", {}};
  }
  if (!std::ranges::all_of(description.eos_ids, is_token)) {
    return Error{"the id of a last token is outside of the vocabulary", "", {}};
  }
  return {};
}

std::vector<NamedShape> expected_tensors(const ModelDescription& description) {
  const std::int64_t hidden = description.hidden;
  const std::int64_t query = description.heads * description.head_dim;
  const std::int64_t key = description.kv_heads * description.head_dim;
  std::vector<NamedShape> tensors;
  tensors.push_back({"model.embed_tokens.weight", {description.vocabulary, hidden}});
  for (std::int64_t layer = 0; layer < description.layers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    const auto add = [&](const char* name, Shape shape) { tensors.push_back({prefix + name, std::move(shape)}); };
    add("input_layernorm.weight", {hidden});
    add("self_attn.q_proj.weight", {query, hidden});
    add("self_attn.k_proj.weight", {key, hidden});
    add("self_attn.v_proj.weight", {key, hidden});
    if (description.attention_bias) {
      add("self_attn.q_proj.bias", {query});
      add("self_attn.k_proj.bias", {key});
      add("self_attn.v_proj.bias", {key});
    }
    add("self_attn.o_proj.weight", {hidden, query});
    if (description.attention_bias && description.architecture == Architecture::llama) {
      add("self_attn.o_proj.bias", {hidden});
    }
    add("post_attention_layernorm.weight", {hidden});
    add("mlp.gate_proj.weight", {description.intermediate, hidden});
    add("mlp.up_proj.weight", {description.intermediate, hidden});
    add("mlp.down_proj.weight", {hidden, description.intermediate});
  }
  tensors.push_back({"model.norm.weight", {hidden}});
  if (!description.tied_embeddings) tensors.push_back({"lm_head.weight", {description.vocabulary, hidden}});
  return tensors;
}

std::int64_t parameter_count(const ModelDescription& description) {
  std::int64_t count = 0;
  for (const NamedShape& tensor : expected_tensors(description)) count += element_count(tensor.shape).value();
  return count;
}

Result<void> check_tensors(const ModelDescription& description, std::vector<NamedShape> found) {
  std::vector<NamedShape> expected = expected_tensors(description);
  std::ranges::sort(expected, {}, &NamedShape::name);
  std::ranges::sort(found, {}, &NamedShape::name);
  auto want = expected.begin();
  auto have = found.begin();
  while (want != expected.end() || have != found.end()) {
    if (have == found.end() || (want != expected.end() && want->name < have->name)) {
      return Error{"the tensor '" + want->name + "' is missing", "", {}};
    }
    if (want == expected.end() || have->name < want->name) {
      return Error{"the tensor '" + have->name + "' is not expected in a model of this description", "", {}};
    }
    if (want->shape != have->shape) {
      return Error{"the tensor '" + have->name + "' has the shape " + to_string(have->shape) + " instead of " +
                       to_string(want->shape),
                   "",
                   {}};
    }
    ++want;
    ++have;
  }
  return {};
}

}  // namespace kw
