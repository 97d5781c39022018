#include "model/weights/gguf_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace kw {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

constexpr std::array<NamePair, 3> model_names{{
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
}};

constexpr std::array<NamePair, 9> layer_names{{
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
}};

std::optional<std::string_view> translate(std::span<const NamePair> names, std::string_view gguf_name) {
  for (const auto& [gguf, huggingface] : names) {
    if (gguf == gguf_name) return huggingface;
  }
  return std::nullopt;
}

// llama.cpp rotates neighbours (2i, 2i + 1), Hugging Face (i, i + half): within a head, row j * half + i of Hugging
// Face is row 2 i + j of the file. (convert_hf_to_gguf.py: permute)
std::int64_t interleaved_row(std::int64_t row, std::int64_t head_rows) {
  const std::int64_t head = row / head_rows;
  const std::int64_t within = row % head_rows;
  const std::int64_t half = head_rows / 2;
  return head * head_rows + 2 * (within % half) + within / half;
}

}  // namespace

std::optional<std::string> huggingface_tensor_name(std::string_view gguf_name) {
  const std::size_t dot = gguf_name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view suffix = gguf_name.substr(dot);
  if (suffix != ".weight" && suffix != ".bias") return std::nullopt;
  std::string_view stem = gguf_name.substr(0, dot);
  constexpr std::string_view layer_prefix = "blk.";
  if (!stem.starts_with(layer_prefix)) {
    const auto name = translate(model_names, stem);
    return name ? std::optional(std::string(*name) + std::string(suffix)) : std::nullopt;
  }
  stem.remove_prefix(layer_prefix.size());
  const std::size_t end = stem.find('.');
  const std::string_view layer = stem.substr(0, end);
  const bool is_number = !layer.empty() && layer.size() <= 6 && (layer == "0" || layer.front() != '0') &&
                         std::ranges::all_of(layer, [](char c) { return c >= '0' && c <= '9'; });
  if (end == std::string_view::npos || !is_number) return std::nullopt;
  const auto name = translate(layer_names, stem.substr(end + 1));
  if (!name) return std::nullopt;
  return "model.layers." + std::string(layer) + "." + std::string(*name) + std::string(suffix);
}

Result<GgufModel> GgufModel::open(const std::filesystem::path& path) {
  const auto located = [&](Error error) {
    error.where.file = path.string();
    return error;
  };
  KW_TRY(GgufFile file, GgufFile::open(path));
  auto description = describe_gguf(file.content());
  if (!description.ok()) return located(description.error());
  GgufModel model(std::move(file), std::move(*description));
  std::vector<NamedShape> found;
  for (const GgufTensor& tensor : model.content().tensors) {
    const auto name = huggingface_tensor_name(tensor.name);
    if (!name) {
      return located(
          {"the tensor '" + std::string(tensor.name) + "' is not expected in a model of this description", "", {}});
    }
    Entry entry{&tensor, 0};
    if (model.description_.architecture == Architecture::llama) {
      if (name->find("self_attn.q_proj") != std::string::npos) entry.interleaved_heads = model.description_.heads;
      if (name->find("self_attn.k_proj") != std::string::npos) entry.interleaved_heads = model.description_.kv_heads;
    }
    model.entries_[*name] = entry;
    found.push_back({*name, tensor.shape});
  }
  const auto checked = check_tensors(model.description_, std::move(found));
  if (!checked.ok()) return located(checked.error());
  return model;
}

std::vector<NamedShape> GgufModel::tensors() const { return expected_tensors(description_); }

Result<void> GgufModel::read(std::string_view huggingface_name, std::span<float> out) const {
  const auto found = entries_.find(huggingface_name);
  if (found == entries_.end()) return Error{"there is no tensor '" + std::string(huggingface_name) + "'", "", {}};
  const GgufTensor& tensor = *found->second.tensor;
  KW_CHECK(static_cast<std::int64_t>(out.size()) == element_count(tensor.shape).value());
  const std::int64_t heads = found->second.interleaved_heads;
  if (heads == 0) {
    dequantise_blocks(tensor.format, tensor.bytes, out);
    return {};
  }
  const std::int64_t rows = tensor.shape[0];
  const std::size_t row_elements = out.size() / static_cast<std::size_t>(rows);
  const std::size_t row_bytes = tensor.bytes.size() / static_cast<std::size_t>(rows);
  if (tensor.shape.size() == 1 && block_layout(tensor.format).elements != 1) {
    return Error{"the bias '" + std::string(huggingface_name) + "' is stored in blocks", "", {}};
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto source = static_cast<std::size_t>(interleaved_row(row, rows / heads));
    dequantise_blocks(tensor.format, tensor.bytes.subspan(source * row_bytes, row_bytes),
                      out.subspan(static_cast<std::size_t>(row) * row_elements, row_elements));
  }
  return {};
}

const GgufTensor* GgufModel::find(std::string_view huggingface_name) const {
  const auto found = entries_.find(huggingface_name);
  return found == entries_.end() ? nullptr : found->second.tensor;
}

std::vector<std::int64_t> GgufModel::row_order(std::string_view huggingface_name) const {
  const auto found = entries_.find(huggingface_name);
  std::vector<std::int64_t> order;
  if (found == entries_.end() || found->second.interleaved_heads == 0) return order;
  const std::int64_t rows = found->second.tensor->shape[0];
  for (std::int64_t row = 0; row < rows; ++row) {
    order.push_back(interleaved_row(row, rows / found->second.interleaved_heads));
  }
  return order;
}

std::vector<OutgoingTensor> GgufModel::outgoing_tensors(ElementType type) const {
  std::vector<OutgoingTensor> tensors;
  for (NamedShape& tensor : expected_tensors(description_)) {
    const auto count = static_cast<std::size_t>(element_count(tensor.shape).value());
    const auto produce = [this, name = tensor.name, count,
                          type](std::vector<std::byte>& scratch) -> Result<std::span<const std::byte>> {
      std::vector<float> values(count);
      KW_TRY_VOID(read(name, values));
      KW_TRY(scratch, encode_floats(values, type));
      return std::span<const std::byte>(scratch);
    };
    tensors.push_back({tensor.name, type, tensor.shape, produce});
  }
  return tensors;
}

}  // namespace kw
