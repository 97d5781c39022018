#pragma once
// The one architecture family that we run, as numbers: RMSNorm, RoPE, grouped-query attention, SwiGLU. It is read from
// Hugging Face's config.json (huggingface_config.h) or from GGUF's metadata (gguf_model.h), and says which tensors a
// model has.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/weights/tensor.h"

namespace kw {

enum class Architecture { llama, qwen2 };

std::string_view to_string(Architecture architecture);  // "llama": the name in GGUF and model_type of Hugging Face

struct ModelDescription {
  Architecture architecture = Architecture::llama;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // divides heads
  std::int64_t head_dim = 0;  // even; heads * head_dim need not be hidden
  std::int64_t intermediate = 0;
  std::int64_t vocabulary = 0;
  std::int64_t context = 0;  // tokens
  double rope_base = 10000;
  double rms_epsilon = 1e-6;
  bool tied_embeddings = false;
  bool attention_bias = false;  // of q, k and v; Llama's o projection has one then too, Qwen2's never
  ElementType stored_type = ElementType::f32;
  std::optional<std::int64_t> bos_id;
  std::vector<std::int64_t> eos_ids;  // any of them ends an answer; may be empty

  friend bool operator==(const ModelDescription&, const ModelDescription&) = default;
};

// Refuses what no model has (a hostile file) or what cannot be computed (kv heads that do not divide the heads).
Result<void> check_description(const ModelDescription& description);

struct NamedShape {
  std::string name;  // Hugging Face's
  Shape shape;

  friend bool operator==(const NamedShape&, const NamedShape&) = default;
};

// Every tensor of a model with this description, in the order in which they are used. The description is valid.
std::vector<NamedShape> expected_tensors(const ModelDescription& description);
std::int64_t parameter_count(const ModelDescription& description);

// Exactly the expected tensors: an error names the first that is missing, unexpected or of another shape.
Result<void> check_tensors(const ModelDescription& description, std::vector<NamedShape> found);

}  // namespace kw
