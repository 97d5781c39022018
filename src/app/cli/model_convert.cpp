#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "app/cli/model_command.h"
#include "app/cli/model_source.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/table.h"
#include "model/decoder/model_name.h"
#include "model/weights/huggingface_config.h"
#include "model/weights/nf4.h"

namespace kw::cli {
namespace fs = std::filesystem;
namespace {

// Only an empty folder, a new one, or an earlier model is written to.
Result<void> prepare_folder(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  if (fs::exists(to, failure)) {
    if (!fs::is_directory(to, failure)) return Error{to.string() + " is not a folder", "", {}};
    if (fs::equivalent(from, to, failure)) return Error{"a model cannot be converted into its own folder", "", {}};
    if (!fs::is_empty(to, failure) && !fs::exists(to / "config.json", failure)) {
      return Error{to.string() + " holds something that is no model", "name a new folder", {}};
    }
    return {};
  }
  fs::create_directories(to, failure);
  if (failure) return Error{"cannot create the folder " + to.string() + ": " + failure.message(), "", {}};
  return {};
}

Result<ElementType> chosen_type(const std::string& argument, const ModelSource& source) {
  if (!argument.empty()) {
    if (const auto type = element_type_from_argument(argument)) return *type;
    return Error{"the type '" + argument + "' is not known", "f32, bf16 or f16", {}};
  }
  const ElementType stored = source.description().stored_type;
  const bool folder = source.kind() != "GGUF file";
  return folder && (stored == ElementType::bf16 || stored == ElementType::f16) ? stored : ElementType::f32;
}

// Counts a tensor when it has been asked for, and stops where the user wants it.
OutgoingTensor watched(OutgoingTensor tensor, Progress& progress) {
  auto produce = [bytes = std::move(tensor.bytes), name = tensor.name,
                  &progress](std::vector<std::byte>& scratch) -> Result<std::span<const std::byte>> {
    if (interrupted()) return Error{"interrupted", "nothing was replaced", {}};
    auto result = bytes(scratch);
    progress.advance(1, name);
    return result;
  };
  tensor.bytes = std::move(produce);
  return tensor;
}

Result<ModelSource> open_source(const std::string& name) {
  KW_TRY(const fs::path path, model_path(name));
  return ModelSource::open(path);
}

struct QuantiseArguments {
  std::string from;
  std::string to;
  std::string type;
};

// What transformers writes for a BitsAndBytesConfig of QLoRA.
nlohmann::json nf4_config(ElementType type) {
  return {{"quant_method", "bitsandbytes"},
          {"load_in_4bit", true},
          {"load_in_8bit", false},
          {"_load_in_4bit", true},
          {"_load_in_8bit", false},
          {"bnb_4bit_quant_type", "nf4"},
          {"bnb_4bit_use_double_quant", true},
          {"bnb_4bit_compute_dtype", torch_name(type)},
          {"bnb_4bit_quant_storage", "uint8"},
          {"llm_int8_enable_fp32_cpu_offload", false},
          {"llm_int8_has_fp16_weight", false},
          {"llm_int8_skip_modules", nullptr},
          {"llm_int8_threshold", 6.0}};
}

bool is_projection(const std::string& name) {
  return name.starts_with("model.layers.") && name.ends_with("_proj.weight");
}

Result<void> quantise_model(const QuantiseArguments& arguments) {
  KW_TRY(const ModelSource source, open_source(arguments.from));
  KW_TRY(const ElementType type, chosen_type(arguments.type, source));
  KW_TRY_VOID(prepare_folder(source.path(), arguments.to));
  ModelDescription description = source.description();
  description.stored_type = type;
  // All of them stay in memory until they are written: half a byte a parameter.
  std::vector<Nf4Tensor> quantised;
  quantised.reserve(source.tensors().size());
  std::vector<OutgoingTensor> outgoing;
  std::vector<float> values;
  {
    Progress progress("tensors quantised", source.tensors().size());
    for (const StoredTensor& tensor : source.tensors()) {
      if (interrupted()) return Error{"interrupted", "nothing was written", {}};
      if (tensor.format == "NF4") return Error{"the model is in NF4 already", "", {source.path().string()}};
      if (is_projection(tensor.name)) {
        values.resize(static_cast<std::size_t>(element_count(tensor.shape).value()));
        KW_TRY_VOID(source.read(tensor.name, values));
        quantised.push_back(quantise_nf4(values, tensor.shape, type));
        for (OutgoingTensor& part : outgoing_nf4(tensor.name, quantised.back())) outgoing.push_back(std::move(part));
      } else {
        outgoing.push_back(source.outgoing(tensor, type));
      }
      progress.advance(1, tensor.name);
    }
  }
  KW_TRY_VOID(source.write_tokenizer_files(arguments.to));
  KW_TRY_VOID(write_huggingface_config(arguments.to, description));
  auto config = nlohmann::json::parse(to_huggingface_config(description));
  config["quantization_config"] = nf4_config(type);
  KW_TRY_VOID(write_file_atomic(fs::path(arguments.to) / "config.json", config.dump(2) + "\n"));
  return write_weight_folder(arguments.to, std::move(outgoing));
}

void report(Context& context, const std::string& to) {
  const auto written = ModelSource::open(to);
  if (!written.ok()) return fail(context, written.error());
  std::int64_t bytes = 0;
  for (const StoredTensor& tensor : written->tensors()) bytes += tensor.bytes;
  const std::int64_t parameters = parameter_count(written->description());
  if (context.json) return print_json({{"folder", to}, {"parameters", parameters}, {"bytes", bytes}});
  std::cout << fmt::format("{}: {} parameters, {}\n", to, grouped(parameters), bytes_text(static_cast<double>(bytes)));
}

void finish(Context& context, const Result<void>& done, const std::string& to) {
  if (done.ok()) return report(context, to);
  fail(context, done.error());
  if (interrupted()) context.exit_code = exit_interrupted;
}

}  // namespace

Result<void> convert_model(const ConvertArguments& arguments) {
  KW_TRY(const ModelSource source, open_source(arguments.from));
  KW_TRY(const ElementType type, chosen_type(arguments.type, source));
  KW_TRY_VOID(prepare_folder(source.path(), arguments.to));
  ModelDescription description = source.description();
  description.stored_type = type;
  Progress progress("tensors", source.tensors().size());
  std::vector<OutgoingTensor> outgoing;
  for (const StoredTensor& tensor : source.tensors())
    outgoing.push_back(watched(source.outgoing(tensor, type), progress));
  KW_TRY_VOID(source.write_tokenizer_files(arguments.to));
  KW_TRY_VOID(write_huggingface_config(arguments.to, description));
  return write_weight_folder(arguments.to, std::move(outgoing), arguments.shard_bytes);
}

void add_model_convert_commands(CLI::App& model, Context& context) {
  auto* convert = model.add_subcommand("convert", "Writes a model as a Hugging Face folder that transformers can open");
  add_json_flag(*convert, context);
  auto arguments = std::make_shared<ConvertArguments>();
  convert->add_option("FROM", arguments->from, "GGUF file, Hugging Face folder (NF4 too), or a fetched name")
      ->required();
  convert->add_option("TO", arguments->to, "folder to write")->required();
  convert->add_option("--type", arguments->type, "f32, bf16 or f16 (default: as stored; f32 for GGUF)");
  convert->add_option("--shard-bytes", arguments->shard_bytes, "split into files of at most this size; 0: one file")
      ->check(CLI::NonNegativeNumber);
  convert->footer(
      "Examples:\n  kernelwright model convert smollm2-135m smollm2\n"
      "  kernelwright model convert Qwen2.5-Coder-0.5B-Instruct small --type bf16 --shard-bytes 500000000");
  convert->callback([&context, arguments] { finish(context, convert_model(*arguments), arguments->to); });

  auto* quantize = model.add_subcommand("quantize", "NF4 with double quantisation, as bitsandbytes stores it (QLoRA)");
  add_json_flag(*quantize, context);
  auto four_bits = std::make_shared<QuantiseArguments>();
  quantize->add_option("FROM", four_bits->from, "GGUF file, Hugging Face folder, or a fetched name")->required();
  quantize->add_option("TO", four_bits->to, "folder to write")->required();
  quantize->add_option("--type", four_bits->type,
                       "type of the tensors that are not quantised, and of the arithmetic (default: as stored)");
  quantize->footer(
      "Example:\n  kernelwright model quantize smollm2-135m smollm2-nf4\n"
      "The linear layers of the blocks become 4.127 bits a weight; embeddings, norms and the head stay.");
  quantize->callback([&context, four_bits] { finish(context, quantise_model(*four_bits), four_bits->to); });
}

}  // namespace kw::cli
