#pragma once
// A model as a user names it: a GGUF file, or a Hugging Face folder (config.json, safetensors, tokenizer.json). Says
// why it is refused.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "model/decoder/parameters.h"
#include "model/tokenizer/tokenizer.h"
#include "model/weights/gguf_blocks.h"
#include "model/weights/model_description.h"
#include "model/weights/nf4.h"

namespace kw {

class ModelFiles {
 public:
  static Result<ModelFiles> open(const std::filesystem::path& path);
  ModelFiles(ModelFiles&&) noexcept;
  ModelFiles& operator=(ModelFiles&&) noexcept;
  ~ModelFiles();

  const ModelDescription& description() const;
  // By Hugging Face's name, as float32, in Hugging Face's layout.
  Result<void> read(std::string_view name, std::span<float> out) const;
  // The same as it lies in the file, where it is a matrix in a block format (GGUF): for kernels that expand on the fly.
  struct Blocks {
    BlockFormat format = BlockFormat::f32;
    std::span<const std::byte> bytes;
    std::vector<std::int64_t> row_order;  // row of the file that is row i; empty: as they lie
  };
  std::optional<Blocks> blocks(std::string_view name) const;
  // The same where bitsandbytes stored it in 4 bits; nothing for any other tensor.
  Result<std::optional<Nf4Tensor>> nf4(std::string_view name) const;
  Result<Tokenizer> tokenizer() const;

 private:
  struct Contents;
  explicit ModelFiles(std::unique_ptr<Contents> contents);
  std::unique_ptr<Contents> contents_;
};

using LoadProgress = std::function<void(std::int64_t done_bytes, std::int64_t all_bytes)>;
Result<Parameters> load_parameters(const ModelFiles& files, const LoadProgress& progress = {});
// A folder that transformers opens. Tokenizer files are copied or written beside it when there is a tokenizer.
Result<void> save_model(const std::filesystem::path& folder, const Parameters& parameters, const Tokenizer* tokenizer,
                        ElementType type = ElementType::f32, std::int64_t max_shard_bytes = 0);

}  // namespace kw
