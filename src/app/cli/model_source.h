#pragma once
// A model as a user names it, with what lies in its files tensor by tensor: for describing, converting and quantising
// without holding it in memory. (What computes with a model reads it through model/decoder/model_files.h.)

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/tokenizer.h"
#include "model/weights/model_description.h"
#include "model/weights/safetensors_writer.h"

namespace kw::cli {

struct StoredTensor {
  std::string name;  // Hugging Face's
  Shape shape;
  std::string format;      // "BF16", "Q4_1", "NF4"
  std::int64_t bytes = 0;  // in the file
};

class ModelSource {
 public:
  // A GGUF file, a Hugging Face folder, or one that bitsandbytes quantised to NF4.
  static Result<ModelSource> open(const std::filesystem::path& path);
  ModelSource(ModelSource&&) noexcept;
  ModelSource& operator=(ModelSource&&) noexcept;
  ~ModelSource();

  const std::filesystem::path& path() const;
  std::string kind() const;  // "GGUF file"
  const ModelDescription& description() const;
  const std::vector<StoredTensor>& tensors() const;  // in the order of expected_tensors()
  Result<void> read(const std::string& name, std::span<float> out) const;
  // Read and rounded to `type` when its turn comes. This source must outlive it.
  OutgoingTensor outgoing(const StoredTensor& tensor, ElementType type) const;

  bool has_tokenizer() const;
  Result<Tokenizer> tokenizer() const;
  std::string chat_template() const;  // Jinja; empty: there is none
  // tokenizer.json and what belongs to it into a Hugging Face folder: copied, or made from a GGUF file's vocabulary.
  Result<void> write_tokenizer_files(const std::filesystem::path& folder) const;

 private:
  struct Contents;
  explicit ModelSource(std::unique_ptr<Contents> contents);
  std::unique_ptr<Contents> contents_;
};

// "f32", "bf16", "f16"
std::optional<ElementType> element_type_from_argument(const std::string& name);

// "134,515,008"
std::string grouped(std::int64_t number);

}  // namespace kw::cli
