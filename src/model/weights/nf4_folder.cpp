#include "model/weights/nf4_folder.h"

#include <nlohmann/json.hpp>

#include "base/bounded_json.h"
#include "base/file.h"
#include "model/weights/huggingface_config.h"
#include "model/weights/nf4.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t max_config_bytes = 64u << 20;
constexpr std::string_view state_part = ".quant_state.bitsandbytes__nf4";

Error in_file(Error error, const fs::path& path) {
  if (error.where.file.empty()) error.where.file = path.string();
  return error;
}

FindTensor finder(const WeightFolder& folder) {
  return [&folder](std::string_view name) { return folder.find(name); };
}

}  // namespace

Result<std::optional<ModelDescription>> read_nf4_config(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  KW_TRY(const std::string text, read_file(path, max_config_bytes));
  auto parsed = parse_bounded_json(text);
  if (!parsed.ok()) return in_file(parsed.error(), path);
  nlohmann::json& config = *parsed;
  const auto found = config.find("quantization_config");
  if (found == config.end() || !found->is_object()) return std::optional<ModelDescription>();
  KW_TRY(const bool four_bits, json_bool_or(*found, "load_in_4bit", false));
  KW_TRY(const std::string kind, json_string_or(*found, "bnb_4bit_quant_type", "fp4"));
  KW_TRY(const bool twice, json_bool_or(*found, "bnb_4bit_use_double_quant", false));
  if (!four_bits || kind != "nf4" || !twice) {
    return in_file(Error{"of quantised folders only bitsandbytes' NF4 with double quantisation can be read", "", {}},
                   path);
  }
  config.erase("quantization_config");
  std::string generation;
  if (fs::exists(folder / "generation_config.json")) {
    KW_TRY(generation, read_file(folder / "generation_config.json", max_config_bytes));
  }
  auto description = parse_huggingface_config(config.dump(), generation);
  if (!description.ok()) return in_file(description.error(), path);
  return std::optional<ModelDescription>(*description);
}

bool is_nf4(const WeightFolder& folder, std::string_view name) {
  return folder.find(std::string(name) + std::string(state_part)) != nullptr;
}

std::optional<std::string> nf4_owner(const WeightFolder& folder, std::string_view part) {
  const std::size_t end = part.find(".weight.");
  if (end == std::string_view::npos) return std::nullopt;
  std::string owner(part.substr(0, end + std::string_view(".weight").size()));
  if (!is_nf4(folder, owner)) return std::nullopt;
  return owner;
}

Result<std::vector<NamedShape>> model_shapes(const WeightFolder& folder) {
  std::vector<NamedShape> shapes;
  for (const TensorView* tensor : folder.tensors()) {
    if (nf4_owner(folder, tensor->name)) continue;
    if (!is_nf4(folder, tensor->name)) {
      shapes.push_back({tensor->name, tensor->shape});
      continue;
    }
    KW_TRY(const Nf4Tensor quantised, read_nf4(finder(folder), tensor->name));
    shapes.push_back({tensor->name, quantised.shape});
  }
  return shapes;
}

Result<void> read_model_tensor(const WeightFolder& folder, std::string_view name, std::span<float> out) {
  const TensorView* tensor = folder.find(name);
  if (tensor == nullptr) return Error{"the model has no tensor '" + std::string(name) + "'", "", {}};
  if (!is_nf4(folder, name)) return read_floats(*tensor, out);
  KW_TRY(const Nf4Tensor quantised, read_nf4(finder(folder), std::string(name)));
  if (static_cast<std::size_t>(element_count(quantised.shape).value()) != out.size()) {
    return Error{"the tensor '" + std::string(name) + "' has another shape than the model needs", "", {}};
  }
  dequantise_nf4(quantised, out);
  return {};
}

}  // namespace kw
