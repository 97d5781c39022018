#include "model/weights/huggingface_config.h"

#include <limits>

#include "base/bounded_json.h"
#include "base/file.h"
#include "model/weights/nf4_folder.h"

namespace kw {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t largest_size = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t max_config_bytes = 16u << 20;
constexpr std::size_t max_eos_ids = 1000;

Error unsupported(const std::string& what) { return Error{what + " is not supported", "", {}}; }

bool is_set(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

Result<Architecture> read_architecture(const Json& config) {
  std::string name;
  if (is_set(config, "architectures")) {
    const Json& list = config["architectures"];
    if (!list.is_array() || list.size() != 1 || !list[0].is_string()) {
      return Error{"'architectures' is not a list of one name", "", {}};
    }
    name = list[0].get<std::string>();
  } else {
    KW_TRY(name, json_string_or(config, "model_type", ""));
    if (name.empty()) return Error{"neither 'architectures' nor 'model_type' says what model this is", "", {}};
  }
  if (name == "LlamaForCausalLM" || name == "llama") return Architecture::llama;
  if (name == "Qwen2ForCausalLM" || name == "qwen2") return Architecture::qwen2;
  return Error{
      "the architecture " + name.substr(0, 100) + " is not supported", "LlamaForCausalLM and Qwen2ForCausalLM are", {}};
}

// rope_theta at the top (transformers 4) or within rope_parameters (transformers 5); scaling within either.
Result<double> read_rope_base(const Json& config) {
  KW_TRY(double base, json_number_or(config, "rope_theta", 10000));
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!is_set(config, key)) continue;
    const Json& rope = config[key];
    if (!rope.is_object()) return Error{std::string("'") + key + "' is not an object", "", {}};
    KW_TRY(const std::string old_type, json_string_or(rope, "type", "default"));
    KW_TRY(const std::string type, json_string_or(rope, "rope_type", old_type));
    if (type != "default" && type != "none")
      return unsupported("rotary embedding of the type '" + type.substr(0, 100) + "'");
    KW_TRY(base, json_number_or(rope, "rope_theta", base));
    KW_TRY(const double share, json_number_or(rope, "partial_rotary_factor", 1));
    if (share != 1) return unsupported("rotary embedding of a part of a head");
  }
  return base;
}

Result<void> refuse_other_computations(const Json& config) {
  KW_TRY(const std::string activation, json_string_or(config, "hidden_act", "silu"));
  if (activation != "silu") return unsupported("the activation '" + activation.substr(0, 100) + "'");
  KW_TRY(const bool mlp_bias, json_bool_or(config, "mlp_bias", false));
  if (mlp_bias) return unsupported("a bias in the feed-forward layers (mlp_bias)");
  KW_TRY(const bool sliding, json_bool_or(config, "use_sliding_window", false));
  if (sliding) return unsupported("a sliding window (use_sliding_window)");
  KW_TRY(const double share, json_number_or(config, "partial_rotary_factor", 1));
  if (share != 1) return unsupported("rotary embedding of a part of a head (partial_rotary_factor)");
  if (is_set(config, "quantization_config")) return unsupported("a quantised model folder (quantization_config)");
  if (is_set(config, "layer_types")) {
    for (const Json& type : config["layer_types"]) {
      if (type != "full_attention") return unsupported("a layer type other than full_attention (layer_types)");
    }
  }
  return {};
}

Result<std::vector<std::int64_t>> read_token_ids(const Json& config, const char* key) {
  std::vector<std::int64_t> ids;
  if (!is_set(config, key)) return ids;
  const Json& value = config[key];
  if (!value.is_array()) {
    KW_TRY(const std::int64_t id, json_integer(config, key, 0, largest_size));
    return std::vector<std::int64_t>{id};
  }
  if (value.size() > max_eos_ids) return Error{std::string("'") + key + "' is longer than 1000", "", {}};
  for (const Json& element : value) {
    if (!element.is_number_unsigned() || element.get<std::uint64_t>() > static_cast<std::uint64_t>(largest_size)) {
      return Error{std::string("'") + key + "' holds what is no token id", "", {}};
    }
    ids.push_back(element.get<std::int64_t>());
  }
  return ids;
}

Result<void> read_tokens(const Json& config, ModelDescription& description) {
  if (is_set(config, "eos_token_id")) {
    KW_TRY(description.eos_ids, read_token_ids(config, "eos_token_id"));
  }
  if (is_set(config, "bos_token_id")) {
    KW_TRY(const auto ids, read_token_ids(config, "bos_token_id"));
    if (ids.size() != 1) return Error{"'bos_token_id' is not one token", "", {}};
    description.bos_id = ids[0];
  }
  return {};
}

}  // namespace

Result<ModelDescription> parse_huggingface_config(std::string_view config_text, std::string_view generation_text) {
  KW_TRY(const Json config, parse_bounded_json(config_text));
  ModelDescription description;
  KW_TRY(description.architecture, read_architecture(config));
  const bool llama = description.architecture == Architecture::llama;
  KW_TRY_VOID(refuse_other_computations(config));
  KW_TRY(description.layers, json_integer(config, "num_hidden_layers", 1, largest_size));
  KW_TRY(description.hidden, json_integer(config, "hidden_size", 1, largest_size));
  KW_TRY(description.heads, json_integer(config, "num_attention_heads", 1, largest_size));
  KW_TRY(description.kv_heads,
         json_integer_or(config, "num_key_value_heads", 1, largest_size, llama ? description.heads : 32));
  if (!is_set(config, "head_dim") && description.hidden % description.heads != 0) {
    return Error{"'head_dim' is missing and 'num_attention_heads' does not divide 'hidden_size'", "", {}};
  }
  KW_TRY(description.head_dim,
         json_integer_or(config, "head_dim", 1, largest_size, description.hidden / description.heads));
  KW_TRY(description.intermediate, json_integer(config, "intermediate_size", 1, largest_size));
  KW_TRY(description.vocabulary, json_integer(config, "vocab_size", 1, largest_size));
  KW_TRY(description.context,
         json_integer_or(config, "max_position_embeddings", 1, largest_size, llama ? 2048 : 32768));
  KW_TRY(description.rope_base, read_rope_base(config));
  KW_TRY(description.rms_epsilon, json_number_or(config, "rms_norm_eps", 1e-6));
  KW_TRY(description.tied_embeddings, json_bool_or(config, "tie_word_embeddings", false));
  if (llama) {
    KW_TRY(description.attention_bias, json_bool_or(config, "attention_bias", false));
  } else {
    description.attention_bias = true;  // fixed in Qwen2's code
  }
  KW_TRY(const std::string old_type, json_string_or(config, "torch_dtype", "float32"));
  KW_TRY(const std::string type, json_string_or(config, "dtype", old_type));
  const auto stored = element_type_from_torch(type);
  if (!stored) return unsupported("the dtype '" + type.substr(0, 100) + "'");
  description.stored_type = *stored;
  KW_TRY_VOID(read_tokens(config, description));
  if (!generation_text.empty()) {
    auto generation = parse_bounded_json(generation_text);
    if (!generation.ok()) return Error{"generation_config.json: " + generation.error().message, "", {}};
    KW_TRY_VOID(read_tokens(*generation, description));
  }
  KW_TRY_VOID(check_description(description));
  return description;
}

Result<ModelDescription> read_huggingface_config(const std::filesystem::path& folder) {
  KW_TRY(const std::string config, read_file(folder / "config.json", max_config_bytes));
  std::string generation;
  std::error_code ignored;
  if (std::filesystem::exists(folder / "generation_config.json", ignored)) {
    KW_TRY(generation, read_file(folder / "generation_config.json", max_config_bytes));
  }
  auto description = parse_huggingface_config(config, generation);
  if (!description.ok()) {
    Error error = std::move(description).error();
    error.where.file = (folder / "config.json").string();
    return error;
  }
  return description;
}

std::string to_huggingface_config(const ModelDescription& description) {
  const bool llama = description.architecture == Architecture::llama;
  Json config;  // sorted keys, as transformers writes them
  config["architectures"] = {llama ? "LlamaForCausalLM" : "Qwen2ForCausalLM"};
  config["model_type"] = to_string(description.architecture);
  config["num_hidden_layers"] = description.layers;
  config["hidden_size"] = description.hidden;
  config["num_attention_heads"] = description.heads;
  config["num_key_value_heads"] = description.kv_heads;
  config["head_dim"] = description.head_dim;
  config["intermediate_size"] = description.intermediate;
  config["vocab_size"] = description.vocabulary;
  config["max_position_embeddings"] = description.context;
  config["rope_theta"] = description.rope_base;
  config["rms_norm_eps"] = description.rms_epsilon;
  config["hidden_act"] = "silu";
  config["tie_word_embeddings"] = description.tied_embeddings;
  config["attention_dropout"] = 0.0;
  config["use_cache"] = true;
  if (llama) {
    config["attention_bias"] = description.attention_bias;
    config["mlp_bias"] = false;
  } else {
    config["use_sliding_window"] = false;
  }
  config["torch_dtype"] = torch_name(description.stored_type);
  config["bos_token_id"] = description.bos_id ? Json(*description.bos_id) : Json();
  if (description.eos_ids.size() == 1) {
    config["eos_token_id"] = description.eos_ids[0];
  } else {
    config["eos_token_id"] = description.eos_ids.empty() ? Json() : Json(description.eos_ids);
  }
  return config.dump(2) + "\n";
}

std::string to_huggingface_generation_config(const ModelDescription& description) {
  Json config = Json::object();
  if (description.bos_id) config["bos_token_id"] = *description.bos_id;
  if (description.eos_ids.size() == 1) config["eos_token_id"] = description.eos_ids[0];
  if (description.eos_ids.size() > 1) config["eos_token_id"] = description.eos_ids;
  return config.dump(2) + "\n";
}

Result<void> write_huggingface_config(const std::filesystem::path& folder, const ModelDescription& description) {
  KW_TRY_VOID(write_file_atomic(folder / "config.json", to_huggingface_config(description), Durability::power_loss));
  return write_file_atomic(folder / "generation_config.json", to_huggingface_generation_config(description),
                           Durability::power_loss);
}

Result<HuggingFaceModel> open_huggingface_model(const std::filesystem::path& folder) {
  KW_TRY(const auto quantised, read_nf4_config(folder));
  ModelDescription description;
  if (quantised) {
    description = *quantised;
  } else {
    KW_TRY(description, read_huggingface_config(folder));
  }
  KW_TRY(WeightFolder weights, WeightFolder::open(folder));
  KW_TRY(std::vector<NamedShape> found, model_shapes(weights));
  auto checked = check_tensors(description, std::move(found));
  if (!checked.ok()) {
    Error error = std::move(checked).error();
    error.where.file = folder.string();
    return error;
  }
  return HuggingFaceModel{std::move(description), std::move(weights)};
}

}  // namespace kw
