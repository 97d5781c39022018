#pragma once
// Writing safetensors as Hugging Face's own writer lays them out, byte for byte: wide types first, then by name, the
// header padded to 8 bytes. Tensors are streamed: one is in memory at a time. A reader sees the old file or the new.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/weights/tensor.h"

namespace kw {

struct OutgoingTensor {
  std::string name;
  ElementType type = ElementType::f32;
  Shape shape;
  // Called once, when its turn comes. The result may lie in `scratch`, or anywhere that outlives the call.
  std::function<Result<std::span<const std::byte>>(std::vector<std::byte>& scratch)> bytes;
};

// The view's bytes must stay where they are until they are written.
OutgoingTensor outgoing(const TensorView& view);
// Rounded to `type` (F32, F16, BF16) when its turn comes.
OutgoingTensor outgoing_floats(std::string name, Shape shape, std::span<const float> values, ElementType type);

using SafetensorsMetadata = std::map<std::string, std::string>;
inline const SafetensorsMetadata pytorch_metadata{{"format", "pt"}};

// Synced to the disk before it is renamed into place.
Result<void> write_safetensors(const std::filesystem::path& path, std::vector<OutgoingTensor> tensors,
                               const SafetensorsMetadata& metadata = pytorch_metadata);

// model.safetensors, or model-00001-of-0000N.safetensors with an index when the tensors take more than
// `max_shard_bytes` (0: never split). A tensor is never split, so one larger than that has a shard of its own.
// Weights of an earlier save in the same folder are removed at the end.
Result<void> write_weight_folder(const std::filesystem::path& folder, std::vector<OutgoingTensor> tensors,
                                 std::int64_t max_shard_bytes = 0);

}  // namespace kw
