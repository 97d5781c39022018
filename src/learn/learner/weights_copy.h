#pragma once
// Weights as they were at one moment: a copy on the host that later steps of the trainer do not change.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "model/decoder/adapter.h"
#include "model/decoder/training.h"

namespace kw {

struct WeightsCopy {
  std::int64_t version = 0;                // the trainer's, when it was made
  std::shared_ptr<const Parameters> base;  // null: the base is frozen, everybody has it
  std::vector<Adapter> adapters;           // by index
};

// Values alone, to a file in an existing folder.
Result<void> save_weights(const std::filesystem::path& file, const WeightsCopy& weights);
// Into a copy of the same shape: what the file has takes the place of its values. `version` is the caller's to know.
Result<WeightsCopy> load_weights(const std::filesystem::path& file, const WeightsCopy& like, std::int64_t version);

}  // namespace kw
