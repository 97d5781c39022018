#pragma once
// The tensors of a Hugging Face model folder: model.safetensors, or shards named by model.safetensors.index.json.

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/weights/safetensors.h"

namespace kw {

inline constexpr std::size_t max_shards = 10'000;

// Letters, digits, '.', '-' and '_', not starting with a dot: a file of this folder and no other.
bool is_plain_file_name(std::string_view name);

class WeightFolder {
 public:
  // A shard must be named by a plain file name, and a link may not lead out of the folder; the one exception is the
  // layout of Hugging Face's cache, snapshots/REVISION/FILE -> ../../blobs/HASH.
  static Result<WeightFolder> open(const std::filesystem::path& folder);

  const std::vector<const TensorView*>& tensors() const { return tensors_; }  // sorted by name
  const TensorView* find(std::string_view name) const;
  std::size_t shard_count() const { return shards_.size(); }
  std::size_t bytes() const;  // of all tensors

 private:
  std::vector<SafetensorsFile> shards_;
  std::vector<const TensorView*> tensors_;
};

}  // namespace kw
