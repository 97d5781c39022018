#pragma once
// PEFT's LoRA adapters: adapter_config.json and adapter_model.safetensors. The adapted layer computes
// W x + scale * B (A x). What would make it compute anything else (DoRA, ranks by layer, saved modules, biases) is
// refused by the name of its field.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/weights/tensor.h"

namespace kw {

struct LoraMatrices {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::vector<float> a;  // (rank, in)
  std::vector<float> b;  // (out, rank)

  friend bool operator==(const LoraMatrices&, const LoraMatrices&) = default;
};

struct LoraAdapter {
  std::int64_t rank = 0;
  double alpha = 0;
  bool rank_stabilised = false;  // use_rslora: scale is alpha / sqrt(rank) instead of alpha / rank
  bool fan_in_fan_out = false;   // the base stores its weights (in, out); A and B are the same
  double dropout = 0;            // of x before A, in training
  std::string base_model;        // base_model_name_or_path; may be empty
  // Last parts of module paths, or one regular expression for whole paths. Kept as PEFT has it; `modules` is what
  // counts.
  std::variant<std::vector<std::string>, std::string> target_modules;
  std::map<std::string, LoraMatrices> modules;  // by path: "model.layers.0.self_attn.q_proj"

  friend bool operator==(const LoraAdapter&, const LoraAdapter&) = default;
};

double lora_scale(const LoraAdapter& adapter);

// Everything but `modules`.
Result<LoraAdapter> parse_lora_config(std::string_view text);
std::string to_lora_config(const LoraAdapter& adapter);

Result<LoraAdapter> read_lora_adapter(const std::filesystem::path& folder);
// An empty list of target modules is written as the last parts of the paths of `modules`.
Result<void> write_lora_adapter(const std::filesystem::path& folder, const LoraAdapter& adapter,
                                ElementType type = ElementType::f32);

}  // namespace kw
