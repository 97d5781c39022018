#pragma once
// config.json and generation_config.json of Hugging Face model folders, for LlamaForCausalLM and Qwen2ForCausalLM.
// What is missing has the value that transformers' configuration classes give it; what would change the computation in
// a way that we do not have (scaled rotary embeddings, sliding windows, other activations) is refused by name.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/weights/model_description.h"
#include "model/weights/weight_folder.h"

namespace kw {

// `generation_config` may be empty: then config.json alone says which tokens end an answer.
Result<ModelDescription> parse_huggingface_config(std::string_view config, std::string_view generation_config = {});
Result<ModelDescription> read_huggingface_config(const std::filesystem::path& folder);

// Text of a config.json that transformers accepts and that reads back as the same description.
std::string to_huggingface_config(const ModelDescription& description);
std::string to_huggingface_generation_config(const ModelDescription& description);
Result<void> write_huggingface_config(const std::filesystem::path& folder, const ModelDescription& description);

// A folder whose tensors were checked against its description; they may be NF4 (nf4_folder.h reads either).
struct HuggingFaceModel {
  ModelDescription description;
  WeightFolder weights;
};

Result<HuggingFaceModel> open_huggingface_model(const std::filesystem::path& folder);

}  // namespace kw
