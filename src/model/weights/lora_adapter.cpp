#include "model/weights/lora_adapter.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/bounded_json.h"
#include "base/check.h"
#include "base/file.h"
#include "model/weights/safetensors.h"
#include "model/weights/safetensors_writer.h"

namespace kw {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t max_rank = 1 << 16;
constexpr std::size_t max_target_modules = 100'000;
constexpr std::string_view name_prefix = "base_model.model.";
constexpr std::string_view suffix_a = ".lora_A.weight";
constexpr std::string_view suffix_b = ".lora_B.weight";

// Fields that say nothing about the computation of a trained adapter, or that are read elsewhere.
bool is_harmless(const std::string& field) {
  static const std::set<std::string, std::less<>> harmless{"peft_type",
                                                           "r",
                                                           "lora_alpha",
                                                           "target_modules",
                                                           "bias",
                                                           "use_rslora",
                                                           "fan_in_fan_out",
                                                           "lora_dropout",
                                                           "base_model_name_or_path",
                                                           "task_type",
                                                           "inference_mode",
                                                           "revision",
                                                           "peft_version",
                                                           "megatron_core",
                                                           "auto_mapping",
                                                           "qalora_group_size",
                                                           "init_lora_weights"};
  return harmless.contains(field);
}

bool says_nothing(const Json& value) {
  return value.is_null() || value == false || ((value.is_object() || value.is_array()) && value.empty());
}

Error unsupported(const std::string& field) {
  return Error{"the adapter's '" + field.substr(0, 100) + "' is not supported", "", {}};
}

Result<void> refuse_other_computations(const Json& config) {
  for (const auto& [field, value] : config.items()) {
    if (!is_harmless(field) && !says_nothing(value)) return unsupported(field);
  }
  KW_TRY(const std::string kind, json_string_or(config, "peft_type", "LORA"));
  if (kind != "LORA") return unsupported("peft_type = " + kind);
  KW_TRY(const std::string bias, json_string_or(config, "bias", "none"));
  if (bias != "none") return unsupported("bias = " + bias);
  // These change the base model's weights as well, which the adapter alone does not say.
  const auto initial = config.find("init_lora_weights");
  if (initial != config.end() && initial->is_string()) {
    const auto& name = initial->get_ref<const std::string&>();
    if (name != "gaussian" && name != "orthogonal" && name != "eva") return unsupported("init_lora_weights = " + name);
  }
  return {};
}

Result<std::variant<std::vector<std::string>, std::string>> read_target_modules(const Json& config) {
  using Targets = std::variant<std::vector<std::string>, std::string>;
  const auto found = config.find("target_modules");
  if (found == config.end() || found->is_null()) return Targets(std::vector<std::string>());
  if (found->is_string()) return Targets(found->get<std::string>());
  if (!found->is_array() || found->size() > max_target_modules) {
    return Error{"'target_modules' is neither a list of names nor a regular expression", "", {}};
  }
  std::vector<std::string> names;
  for (const Json& name : *found) {
    if (!name.is_string()) return Error{"'target_modules' holds what is not a name", "", {}};
    names.push_back(name.get<std::string>());
  }
  std::ranges::sort(names);  // PEFT writes a set, in any order
  return Targets(std::move(names));
}

bool matches(const std::vector<std::string>& targets, const std::string& path) {
  return std::ranges::any_of(targets, [&](const std::string& target) {
    return path == target || (path.ends_with(target) && path[path.size() - target.size() - 1] == '.');
  });
}

Result<void> read_matrix(const TensorView& tensor, LoraAdapter& adapter) {
  const auto wrong = [&](const std::string& what) { return Error{"the tensor '" + tensor.name + "' " + what, "", {}}; };
  const bool is_a = tensor.name.ends_with(suffix_a);
  if (!tensor.name.starts_with(name_prefix) || (!is_a && !tensor.name.ends_with(suffix_b)) ||
      tensor.name.size() <= name_prefix.size() + suffix_a.size()) {
    return wrong("is no part of a LoRA adapter of linear layers");
  }
  if (tensor.shape.size() != 2 || tensor.shape[is_a ? 0 : 1] != adapter.rank || tensor.shape[is_a ? 1 : 0] < 1) {
    return wrong("has the shape " + to_string(tensor.shape) + ", which does not fit the rank " +
                 std::to_string(adapter.rank));
  }
  const std::string path =
      tensor.name.substr(name_prefix.size(), tensor.name.size() - name_prefix.size() - suffix_a.size());
  if (const auto* targets = std::get_if<std::vector<std::string>>(&adapter.target_modules);
      targets != nullptr && !targets->empty() && !matches(*targets, path)) {
    return wrong("belongs to no module of 'target_modules'");
  }
  LoraMatrices& matrices = adapter.modules[path];
  KW_TRY((is_a ? matrices.a : matrices.b), read_floats(tensor));
  (is_a ? matrices.in : matrices.out) = tensor.shape[is_a ? 1 : 0];
  return {};
}

}  // namespace

double lora_scale(const LoraAdapter& adapter) {
  const auto rank = static_cast<double>(adapter.rank);
  return adapter.alpha / (adapter.rank_stabilised ? std::sqrt(rank) : rank);
}

Result<LoraAdapter> parse_lora_config(std::string_view text) {
  KW_TRY(const Json config, parse_bounded_json(text));
  KW_TRY_VOID(refuse_other_computations(config));
  LoraAdapter adapter;
  KW_TRY(adapter.rank, json_integer_or(config, "r", 1, max_rank, 8));
  KW_TRY(adapter.alpha, json_number_or(config, "lora_alpha", 8));
  KW_TRY(adapter.rank_stabilised, json_bool_or(config, "use_rslora", false));
  KW_TRY(adapter.fan_in_fan_out, json_bool_or(config, "fan_in_fan_out", false));
  KW_TRY(adapter.dropout, json_number_or(config, "lora_dropout", 0));
  if (adapter.dropout < 0 || adapter.dropout >= 1) return Error{"'lora_dropout' is not from 0 to 1", "", {}};
  KW_TRY(adapter.base_model, json_string_or(config, "base_model_name_or_path", ""));
  KW_TRY(adapter.target_modules, read_target_modules(config));
  return adapter;
}

std::string to_lora_config(const LoraAdapter& adapter) {
  Json config;
  config["peft_type"] = "LORA";
  config["task_type"] = "CAUSAL_LM";
  config["inference_mode"] = true;
  config["r"] = adapter.rank;
  const auto whole = static_cast<std::int64_t>(adapter.alpha);
  config["lora_alpha"] = static_cast<double>(whole) == adapter.alpha ? Json(whole) : Json(adapter.alpha);
  config["lora_dropout"] = adapter.dropout;
  config["use_rslora"] = adapter.rank_stabilised;
  config["fan_in_fan_out"] = adapter.fan_in_fan_out;
  config["bias"] = "none";
  config["base_model_name_or_path"] = adapter.base_model.empty() ? Json() : Json(adapter.base_model);
  if (const auto* pattern = std::get_if<std::string>(&adapter.target_modules)) {
    config["target_modules"] = *pattern;
  } else {
    std::set<std::string> names;
    for (const std::string& name : std::get<std::vector<std::string>>(adapter.target_modules)) names.insert(name);
    if (names.empty()) {
      for (const auto& [path, matrices] : adapter.modules) names.insert(path.substr(path.rfind('.') + 1));
    }
    config["target_modules"] = names;
  }
  return config.dump(2) + "\n";
}

Result<LoraAdapter> read_lora_adapter(const std::filesystem::path& folder) {
  constexpr std::size_t max_config_bytes = 16u << 20;
  const auto located = [](Error error, const std::filesystem::path& path) {
    error.where.file = path.string();
    return error;
  };
  KW_TRY(const std::string text, read_file(folder / "adapter_config.json", max_config_bytes));
  auto parsed = parse_lora_config(text);
  if (!parsed.ok()) return located(parsed.error(), folder / "adapter_config.json");
  LoraAdapter adapter = std::move(*parsed);
  const std::filesystem::path weights = folder / "adapter_model.safetensors";
  KW_TRY(const SafetensorsFile file, SafetensorsFile::open(weights));
  for (const TensorView& tensor : file.tensors()) {
    const auto read = read_matrix(tensor, adapter);
    if (!read.ok()) return located(read.error(), weights);
  }
  for (const auto& [path, matrices] : adapter.modules) {
    if (matrices.in == 0 || matrices.out == 0) {
      return located({"'" + path + "' has only one of lora_A and lora_B", "", {}}, weights);
    }
  }
  if (adapter.modules.empty()) return located({"the adapter has no matrices", "", {}}, weights);
  return adapter;
}

Result<void> write_lora_adapter(const std::filesystem::path& folder, const LoraAdapter& adapter, ElementType type) {
  std::vector<OutgoingTensor> tensors;
  for (const auto& [path, matrices] : adapter.modules) {
    KW_CHECK(static_cast<std::int64_t>(matrices.a.size()) == adapter.rank * matrices.in);
    KW_CHECK(static_cast<std::int64_t>(matrices.b.size()) == adapter.rank * matrices.out);
    const std::string name = std::string(name_prefix) + path;
    tensors.push_back(outgoing_floats(name + std::string(suffix_a), {adapter.rank, matrices.in}, matrices.a, type));
    tensors.push_back(outgoing_floats(name + std::string(suffix_b), {matrices.out, adapter.rank}, matrices.b, type));
  }
  KW_TRY_VOID(write_safetensors(folder / "adapter_model.safetensors", std::move(tensors)));
  return write_file_atomic(folder / "adapter_config.json", to_lora_config(adapter), Durability::power_loss);
}

}  // namespace kw
