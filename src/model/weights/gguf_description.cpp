// What the metadata of a GGUF file says about the model and its vocabulary.
#include <array>
#include <cmath>
#include <limits>

#include "model/weights/gguf_model.h"

namespace kw {
namespace {

Error wrong_key(const std::string& key, const std::string& what) {
  return Error{"GGUF metadata: '" + key + "' " + what, "", {}};
}

Result<std::optional<std::int64_t>> find_integer(const GgufContent& content, const std::string& key) {
  const GgufValue* value = content.find(key);
  if (value == nullptr) return std::optional<std::int64_t>();
  if (const auto* number = std::get_if<std::uint64_t>(value); number != nullptr && *number <= INT64_MAX) {
    return std::optional<std::int64_t>(static_cast<std::int64_t>(*number));
  }
  if (const auto* number = std::get_if<std::int64_t>(value)) return std::optional<std::int64_t>(*number);
  return wrong_key(key, "is not a whole number");
}

Result<std::int64_t> integer(const GgufContent& content, const std::string& key,
                             std::optional<std::int64_t> if_missing = {}) {
  KW_TRY(const auto found, find_integer(content, key));
  if (found) return *found;
  if (if_missing) return *if_missing;
  return wrong_key(key, "is missing");
}

// Epsilon and base are float32 in the file; the shortest decimal that rounds to the same float32 is what was meant:
// 1e-5, not 9.99999974737875163555e-06.
double decimal_of_float32(double value) {
  char text[40];
  for (int digits = 1; digits <= 9; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    const double decimal = std::strtod(text, nullptr);
    if (static_cast<float>(decimal) == static_cast<float>(value)) return decimal;
  }
  return value;
}

Result<double> number(const GgufContent& content, const std::string& key, double if_missing) {
  const GgufValue* value = content.find(key);
  if (value == nullptr) return if_missing;
  const auto* found = std::get_if<double>(value);
  if (found == nullptr || !std::isfinite(*found) || std::abs(*found) > std::numeric_limits<float>::max()) {
    return wrong_key(key, "is not a floating-point number");
  }
  return decimal_of_float32(*found);
}

Result<std::string> text(const GgufContent& content, const std::string& key) {
  const GgufValue* value = content.find(key);
  if (value == nullptr) return std::string();
  const auto* found = std::get_if<std::string_view>(value);
  if (found == nullptr) return wrong_key(key, "is not a string");
  return std::string(*found);
}

template <class T>
Result<std::vector<T>> list(const GgufContent& content, const std::string& key) {
  const GgufValue* value = content.find(key);
  if (value == nullptr) return std::vector<T>();
  if constexpr (std::is_same_v<T, std::string>) {
    if (const auto* found = std::get_if<std::vector<std::string_view>>(value)) {
      return std::vector<std::string>(found->begin(), found->end());
    }
  } else {
    if (const auto* found = std::get_if<std::vector<T>>(value)) return *found;
    if constexpr (std::is_same_v<T, std::int64_t>) {
      if (const auto* found = std::get_if<std::vector<std::uint64_t>>(value))
        return std::vector<T>(found->begin(), found->end());
    }
  }
  return wrong_key(key, "is not a list of the expected type");
}

Result<std::optional<bool>> truth(const GgufContent& content, const std::string& key) {
  const GgufValue* value = content.find(key);
  if (value == nullptr) return std::optional<bool>();
  const auto* found = std::get_if<bool>(value);
  if (found == nullptr) return wrong_key(key, "is not a truth value");
  return std::optional<bool>(*found);
}

ElementType stored_type(const GgufContent& content) {
  const GgufTensor* embedding = content.find_tensor("token_embd.weight");
  if (embedding != nullptr && embedding->format == BlockFormat::f16) return ElementType::f16;
  if (embedding != nullptr && embedding->format == BlockFormat::bf16) return ElementType::bf16;
  return ElementType::f32;
}

}  // namespace

Result<ModelDescription> describe_gguf(const GgufContent& content) {
  KW_TRY(const std::string name, text(content, "general.architecture"));
  ModelDescription description;
  if (name == "llama") {
    description.architecture = Architecture::llama;
  } else if (name == "qwen2") {
    description.architecture = Architecture::qwen2;
  } else {
    return Error{"the GGUF architecture '" + name.substr(0, 100) + "' is not supported", "llama and qwen2 are", {}};
  }
  const std::string prefix = name + ".";
  KW_TRY(description.layers, integer(content, prefix + "block_count"));
  KW_TRY(description.hidden, integer(content, prefix + "embedding_length"));
  KW_TRY(description.heads, integer(content, prefix + "attention.head_count"));
  KW_TRY(description.kv_heads, integer(content, prefix + "attention.head_count_kv", description.heads));
  if (description.heads < 1) return wrong_key(prefix + "attention.head_count", "is less than 1");
  KW_TRY(description.head_dim,
         integer(content, prefix + "attention.key_length", description.hidden / description.heads));
  KW_TRY(const std::int64_t value_length, integer(content, prefix + "attention.value_length", description.head_dim));
  if (value_length != description.head_dim)
    return wrong_key(prefix + "attention.value_length", "differs from key_length");
  KW_TRY(const std::int64_t rotated, integer(content, prefix + "rope.dimension_count", description.head_dim));
  if (rotated != description.head_dim) return wrong_key(prefix + "rope.dimension_count", "is not the size of a head");
  KW_TRY(description.intermediate, integer(content, prefix + "feed_forward_length"));
  KW_TRY(description.context, integer(content, prefix + "context_length"));
  KW_TRY(description.rope_base, number(content, prefix + "rope.freq_base", 10000));
  KW_TRY(description.rms_epsilon, number(content, prefix + "attention.layer_norm_rms_epsilon", 1e-6));
  KW_TRY(const std::string scaling, text(content, prefix + "rope.scaling.type"));
  if (!scaling.empty() && scaling != "none") {
    return Error{"rotary embedding of the type '" + scaling.substr(0, 100) + "' is not supported", "", {}};
  }
  KW_TRY(const std::int64_t experts, integer(content, prefix + "expert_count", 0));
  if (experts != 0) return Error{"mixtures of experts are not supported", "", {}};

  // The table of tensors, not the metadata, says how large the vocabulary is: rows may be added as padding.
  const GgufTensor* embedding = content.find_tensor("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2) {
    return Error{"the tensor 'token_embd.weight' is missing or not a matrix", "", {}};
  }
  description.vocabulary = embedding->shape[0];
  description.tied_embeddings = content.find_tensor("output.weight") == nullptr;
  description.attention_bias = content.find_tensor("blk.0.attn_q.bias") != nullptr;
  if (description.architecture == Architecture::qwen2) description.attention_bias = true;
  description.stored_type = stored_type(content);
  KW_TRY(description.bos_id, find_integer(content, "tokenizer.ggml.bos_token_id"));
  KW_TRY(const auto eos_id, find_integer(content, "tokenizer.ggml.eos_token_id"));
  if (eos_id) description.eos_ids = {*eos_id};
  KW_TRY_VOID(check_description(description));
  return description;
}

Result<GgufVocabulary> vocabulary_of_gguf(const GgufContent& content) {
  GgufVocabulary vocabulary;
  const std::string prefix = "tokenizer.ggml.";
  KW_TRY(vocabulary.model, text(content, prefix + "model"));
  KW_TRY(vocabulary.pre, text(content, prefix + "pre"));
  KW_TRY(vocabulary.tokens, list<std::string>(content, prefix + "tokens"));
  if (vocabulary.tokens.empty()) return wrong_key(prefix + "tokens", "is missing or empty");
  KW_TRY(vocabulary.types, list<std::int64_t>(content, prefix + "token_type"));
  KW_TRY(vocabulary.scores, list<double>(content, prefix + "scores"));
  KW_TRY(vocabulary.merges, list<std::string>(content, prefix + "merges"));
  if (!vocabulary.types.empty() && vocabulary.types.size() != vocabulary.tokens.size()) {
    return wrong_key(prefix + "token_type", "is not as long as the list of tokens");
  }
  if (!vocabulary.scores.empty() && vocabulary.scores.size() != vocabulary.tokens.size()) {
    return wrong_key(prefix + "scores", "is not as long as the list of tokens");
  }
  struct Id {
    const char* key;
    std::optional<std::int64_t>* place;
  };
  for (const Id& id :
       {Id{"bos_token_id", &vocabulary.bos_id}, Id{"eos_token_id", &vocabulary.eos_id},
        Id{"unknown_token_id", &vocabulary.unknown_id}, Id{"padding_token_id", &vocabulary.padding_id}}) {
    KW_TRY(*id.place, find_integer(content, prefix + id.key));
    if (*id.place && (**id.place < 0 || **id.place >= static_cast<std::int64_t>(vocabulary.tokens.size()))) {
      return wrong_key(prefix + id.key, "is outside of the vocabulary");
    }
  }
  KW_TRY(vocabulary.add_bos, truth(content, prefix + "add_bos_token"));
  KW_TRY(vocabulary.add_eos, truth(content, prefix + "add_eos_token"));
  KW_TRY(vocabulary.chat_template, text(content, "tokenizer.chat_template"));
  return vocabulary;
}

}  // namespace kw
