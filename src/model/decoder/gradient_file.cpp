#include "model/decoder/gradient_file.h"

#include <cstring>

#include "base/file.h"

namespace kw {
namespace {

template <class T>
Result<std::vector<T>> read_values(const SafetensorsFile& file, const std::string& name, ElementType type) {
  const TensorView* tensor = file.find(name);
  if (tensor == nullptr) return Error{"there is no tensor '" + name + "'", "", {}};
  if (tensor->type != type) {
    return Error{"'" + name + "' is not of the type " + std::string(safetensors_name(type)), "", {}};
  }
  std::vector<T> values(tensor->bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor->bytes.data(), values.size() * sizeof(T));
  return values;
}

// The array of that name in any of the files of a saved state; empty when there is none (nothing was added to it).
Result<std::vector<float>> saved_array(const std::filesystem::path& folder, const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    KW_TRY(const SafetensorsFile file, SafetensorsFile::open(entry.path()));
    if (const TensorView* tensor = file.find(name)) return read_floats(*tensor);
  }
  return std::vector<float>();
}

}  // namespace

Result<std::vector<std::int32_t>> read_int32s(const SafetensorsFile& file, const std::string& name) {
  return read_values<std::int32_t>(file, name, ElementType::i32);
}

Result<BatchFile> read_batch_file(const SafetensorsFile& file) {
  BatchFile result;
  KW_TRY(result.batch.tokens, read_int32s(file, "batch.tokens"));
  KW_TRY(result.batch.starts, read_values<std::int64_t>(file, "batch.starts", ElementType::i64));
  KW_TRY(result.batch.scored, read_values<std::uint8_t>(file, "batch.scored", ElementType::u8));
  if (file.find("batch.adapter") != nullptr) {
    KW_TRY(result.batch.adapter, read_int32s(file, "batch.adapter"));
  }
  KW_TRY(const auto temperature, read_values<float>(file, "batch.temperature", ElementType::f32));
  if (temperature.size() != 1) return Error{"'batch.temperature' is not one number", "", {}};
  result.batch.temperature = temperature[0];
  KW_TRY(result.gradients.log_prob, read_values<float>(file, "batch.d_log_prob", ElementType::f32));
  if (file.find("batch.d_entropy") != nullptr) {
    KW_TRY(result.gradients.entropy, read_values<float>(file, "batch.d_entropy", ElementType::f32));
  }
  return result;
}

Result<NamedGradients> read_gradients(Trainer& trainer, const ModelDescription& description,
                                      const std::vector<Adapter>& adapters) {
  const TemporaryFolder folder;
  KW_TRY_VOID(trainer.save_state(folder.path().string()));
  NamedGradients named;
  KW_TRY(const std::vector<float> base, saved_array(folder.path(), "base.gradient"));
  if (!base.empty()) {
    for (const ParameterLayout::Place& place : ParameterLayout(description).places) {
      const auto begin = base.begin() + place.offset;
      named[place.tensor.name] = {place.tensor.shape, {begin, begin + element_count(place.tensor.shape).value()}};
    }
  }
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    Adapter gradient = adapters[i];
    KW_TRY(gradient.values,
           saved_array(folder.path(), "adapter." + std::to_string(i) + "." + gradient.name + ".gradient"));
    if (gradient.values.empty()) continue;
    for (const auto& [path, matrices] : to_lora_adapter(gradient, description).modules) {
      named[path + ".lora_A.weight"] = {{gradient.layout.rank, matrices.in}, matrices.a};
      named[path + ".lora_B.weight"] = {{matrices.out, gradient.layout.rank}, matrices.b};
    }
  }
  return named;
}

}  // namespace kw
