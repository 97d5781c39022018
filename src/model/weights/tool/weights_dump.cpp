// Weights in and out from the command line, for comparing with other programs (scripts/weights_parity.py):
//   weights_dump gguf FILE.gguf FOLDER [SHARD_BYTES]   a GGUF model as a Hugging Face folder of float32
//   weights_dump blocks FILE.gguf OUT.safetensors      its tensors under their own names, dequantised, nothing permuted
//   weights_dump copy IN.safetensors OUT.safetensors   read and written again
//   weights_dump describe FOLDER                       config.json and tensors checked; config.json written to stdout
//   weights_dump adapter FOLDER OUT_FOLDER             a PEFT adapter read and written again
//   weights_dump nf4 IN.safetensors OUT.safetensors    every tensor as NF4 with double quantisation
//   weights_dump speed FILE                            seconds and GB/s of loading a GGUF or safetensors file
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "model/weights/gguf_model.h"
#include "model/weights/huggingface_config.h"
#include "model/weights/lora_adapter.h"
#include "model/weights/nf4.h"

namespace {

using namespace kw;
using Arguments = std::vector<std::string>;

Result<void> dump_gguf(const Arguments& arguments) {
  KW_TRY(const GgufModel model, GgufModel::open(arguments[1]));
  std::filesystem::create_directories(arguments[2]);
  ModelDescription description = model.description();
  description.stored_type = ElementType::f32;
  KW_TRY_VOID(write_huggingface_config(arguments[2], description));
  const std::int64_t shard_bytes = arguments.size() > 3 ? std::stoll(arguments[3]) : 0;
  KW_TRY_VOID(write_weight_folder(arguments[2], model.outgoing_tensors(ElementType::f32), shard_bytes));
  KW_TRY(const GgufVocabulary vocabulary, vocabulary_of_gguf(model.content()));
  std::printf("%lld parameters, %zu tokens, %zu merges\n", static_cast<long long>(parameter_count(description)),
              vocabulary.tokens.size(), vocabulary.merges.size());
  return {};
}

Result<void> dump_blocks(const Arguments& arguments) {
  KW_TRY(const GgufFile file, GgufFile::open(arguments[1]));
  std::vector<OutgoingTensor> outgoing;
  for (const GgufTensor& tensor : file.content().tensors) {
    const auto produce = [&tensor](std::vector<std::byte>& scratch) -> Result<std::span<const std::byte>> {
      std::vector<float> values(static_cast<std::size_t>(element_count(tensor.shape).value()));
      dequantise_blocks(tensor.format, tensor.bytes, values);
      KW_TRY(scratch, encode_floats(values, ElementType::f32));
      return std::span<const std::byte>(scratch);
    };
    outgoing.push_back({std::string(tensor.name), ElementType::f32, tensor.shape, produce});
  }
  return write_safetensors(arguments[2], std::move(outgoing));
}

Result<void> copy(const Arguments& arguments) {
  KW_TRY(const SafetensorsFile file, SafetensorsFile::open(arguments[1]));
  std::vector<OutgoingTensor> tensors;
  for (const TensorView& tensor : file.tensors()) tensors.push_back(outgoing(tensor));
  return write_safetensors(arguments[2], std::move(tensors), file.metadata());
}

Result<void> describe(const Arguments& arguments) {
  KW_TRY(const HuggingFaceModel model, open_huggingface_model(arguments[1]));
  std::fputs(to_huggingface_config(model.description).c_str(), stdout);
  return {};
}

Result<void> copy_adapter(const Arguments& arguments) {
  KW_TRY(const LoraAdapter adapter, read_lora_adapter(arguments[1]));
  std::filesystem::create_directories(arguments[2]);
  return write_lora_adapter(arguments[2], adapter);
}

Result<void> quantise(const Arguments& arguments) {
  KW_TRY(const SafetensorsFile file, SafetensorsFile::open(arguments[1]));
  std::vector<Nf4Tensor> quantised;
  quantised.reserve(file.tensors().size());
  std::vector<OutgoingTensor> tensors;
  for (const TensorView& tensor : file.tensors()) {
    KW_TRY(const std::vector<float> values, read_floats(tensor));
    quantised.push_back(quantise_nf4(values, tensor.shape, tensor.type));
    for (OutgoingTensor& part : outgoing_nf4(tensor.name, quantised.back())) tensors.push_back(std::move(part));
  }
  return write_safetensors(arguments[2], std::move(tensors));
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<void> speed(const Arguments& arguments) {
  const bool is_gguf = arguments[1].ends_with(".gguf");
  KW_TRY(const MappedFile bare, MappedFile::open(arguments[1]));
  std::vector<std::byte> copied(bare.bytes().size());
  std::vector<float> values;
  double best_copy = 1e9;
  double best_open = 1e9;
  double best_load = 1e9;
  double out_bytes = 0;
  for (int round = 0; round < 5; ++round) {
    auto start = std::chrono::steady_clock::now();
    std::memcpy(copied.data(), bare.bytes().data(), copied.size());
    best_copy = std::min(best_copy, seconds_since(start));
    start = std::chrono::steady_clock::now();
    out_bytes = 0;
    if (is_gguf) {
      KW_TRY(const GgufModel model, GgufModel::open(arguments[1]));
      best_open = std::min(best_open, seconds_since(start));
      for (const NamedShape& tensor : model.tensors()) {
        const auto count = static_cast<std::size_t>(element_count(tensor.shape).value());
        if (values.size() < count) values.resize(count);
        KW_TRY_VOID(model.read(tensor.name, std::span(values).first(count)));
        out_bytes += 4.0 * static_cast<double>(count);
      }
    } else {
      KW_TRY(const SafetensorsFile file, SafetensorsFile::open(arguments[1]));
      best_open = std::min(best_open, seconds_since(start));
      for (const TensorView& tensor : file.tensors()) {
        const std::size_t count = tensor.bytes.size() / bytes_of(tensor.type);
        if (values.size() < count) values.resize(count);
        KW_TRY_VOID(read_floats(tensor, std::span(values).first(count)));
        out_bytes += 4.0 * static_cast<double>(count);
      }
    }
    best_load = std::min(best_load, seconds_since(start));
  }
  const auto file_bytes = static_cast<double>(copied.size());
  std::printf("one thread, best of 5, file in the page cache: %.1f MB\n", file_bytes / 1e6);
  std::printf("memcpy of the mapped file   %6.1f ms  %6.2f GB/s\n", best_copy * 1e3, file_bytes / best_copy / 1e9);
  std::printf("open and check              %6.1f ms\n", best_open * 1e3);
  std::printf("open, check, all as float32 %6.1f ms  %6.2f GB/s of file, %.2f GB/s of float32\n", best_load * 1e3,
              file_bytes / best_load / 1e9, out_bytes / best_load / 1e9);
  return {};
}

struct Verb {
  const char* name;
  std::size_t least_arguments;
  Result<void> (*run)(const Arguments&);
};

constexpr Verb verbs[] = {{"gguf", 3, dump_gguf},    {"blocks", 3, dump_blocks},   {"copy", 3, copy},
                          {"describe", 2, describe}, {"adapter", 3, copy_adapter}, {"nf4", 3, quantise},
                          {"speed", 2, speed}};

}  // namespace

int main(int count, char** values) {
  const Arguments arguments(values + 1, values + count);
  for (const Verb& verb : verbs) {
    if (arguments.size() < verb.least_arguments || arguments[0] != verb.name) continue;
    const auto result = verb.run(arguments);
    if (result.ok()) return 0;
    std::fprintf(stderr, "weights_dump: %s\n", to_string(result.error()).c_str());
    return 1;
  }
  std::fprintf(stderr, "usage: weights_dump gguf|blocks|copy|describe|adapter|nf4|speed FILE [OUT]\n");
  return 2;
}
