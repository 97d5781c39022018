#pragma once
// A GGUF file as a model: its description, its tensors under Hugging Face's names and in Hugging Face's layout, its
// vocabulary. Architectures llama and qwen2.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/weights/gguf.h"
#include "model/weights/model_description.h"
#include "model/weights/safetensors_writer.h"

namespace kw {

// As the file has it; what it means is the tokenizer's business.
struct GgufVocabulary {
  std::string model;                // "gpt2": byte-level BPE; "llama": SentencePiece
  std::string pre;                  // name of the splitting rule, "smollm"
  std::vector<std::string> tokens;  // by id
  std::vector<std::int64_t>
      types;                   // by id: 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte; may be empty
  std::vector<double> scores;  // by id; may be empty
  std::vector<std::string> merges;  // "left right", best first; may be empty
  std::optional<std::int64_t> bos_id;
  std::optional<std::int64_t> eos_id;
  std::optional<std::int64_t> unknown_id;
  std::optional<std::int64_t> padding_id;
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::string chat_template;  // Jinja
};

Result<ModelDescription> describe_gguf(const GgufContent& content);
Result<GgufVocabulary> vocabulary_of_gguf(const GgufContent& content);

// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight"; nothing for names that these architectures lack.
std::optional<std::string> huggingface_tensor_name(std::string_view gguf_name);

class GgufModel {
 public:
  // Checks that the file holds exactly the tensors that its metadata implies.
  static Result<GgufModel> open(const std::filesystem::path& path);

  const ModelDescription& description() const { return description_; }
  const GgufContent& content() const { return file_.content(); }
  std::vector<NamedShape> tensors() const;  // in the order of expected_tensors()

  // float32, rows of q and k in the order of rotate_half. `out` has one float for each element.
  Result<void> read(std::string_view huggingface_name, std::span<float> out) const;

  // The tensor as it lies in the file, or null, and which of its rows is row i of Hugging Face's (empty: row i).
  const GgufTensor* find(std::string_view huggingface_name) const;
  std::vector<std::int64_t> row_order(std::string_view huggingface_name) const;

  // For write_weight_folder: each tensor is dequantised when its turn comes. The model must outlive them.
  std::vector<OutgoingTensor> outgoing_tensors(ElementType type) const;

 private:
  struct Entry {
    const GgufTensor* tensor = nullptr;
    std::int64_t interleaved_heads = 0;  // 0: rows are in place
  };
  GgufModel(GgufFile file, ModelDescription description)
      : file_(std::move(file)), description_(std::move(description)) {}

  GgufFile file_;
  ModelDescription description_;
  std::map<std::string, Entry, std::less<>> entries_;  // by Hugging Face's name
};

}  // namespace kw
