#include "learn/learner/weights_copy.h"

#include <fmt/format.h>

#include "model/weights/safetensors.h"
#include "model/weights/safetensors_writer.h"

namespace kw {
namespace {

std::string adapter_name(std::size_t index) { return fmt::format("adapter.{}", index); }

OutgoingTensor outgoing_values(std::string name, std::span<const float> values) {
  return outgoing_floats(std::move(name), {static_cast<std::int64_t>(values.size())}, values, ElementType::f32);
}

Result<void> read_values(const SafetensorsFile& file, const std::string& name, std::span<float> into) {
  const TensorView* tensor = file.find(name);
  if (tensor == nullptr || tensor->type != ElementType::f32 || tensor->bytes.size() != into.size_bytes())
    return Error{"these are not weights of this model: '" + name + "' is missing or of another size", "", {}};
  return read_floats(*tensor, into);
}

}  // namespace

Result<void> save_weights(const std::filesystem::path& file, const WeightsCopy& weights) {
  std::vector<OutgoingTensor> tensors;
  if (weights.base) tensors.push_back(outgoing_values("base", weights.base->values));
  for (std::size_t i = 0; i < weights.adapters.size(); ++i)
    tensors.push_back(outgoing_values(adapter_name(i), weights.adapters[i].values));
  return write_safetensors(file, std::move(tensors), {});
}

Result<WeightsCopy> load_weights(const std::filesystem::path& file, const WeightsCopy& like, std::int64_t version) {
  KW_TRY(const SafetensorsFile opened, SafetensorsFile::open(file));
  WeightsCopy weights = like;
  weights.version = version;
  if (like.base) {
    auto base = std::make_shared<Parameters>(like.base->description);
    KW_TRY_VOID(read_values(opened, "base", base->values));
    weights.base = std::move(base);
  }
  for (std::size_t i = 0; i < weights.adapters.size(); ++i)
    KW_TRY_VOID(read_values(opened, adapter_name(i), weights.adapters[i].values));
  return weights;
}

}  // namespace kw
