#include "model/decoder/model_files.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <variant>

#include "base/file.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/vocabulary_sources.h"
#include "model/weights/gguf_model.h"
#include "model/weights/huggingface_config.h"
#include "model/weights/nf4_folder.h"
#include "model/weights/safetensors_writer.h"

namespace kw {

namespace fs = std::filesystem;

struct ModelFiles::Contents {
  std::variant<GgufModel, HuggingFaceModel> model;
  fs::path path;
};

ModelFiles::ModelFiles(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
ModelFiles::ModelFiles(ModelFiles&&) noexcept = default;
ModelFiles& ModelFiles::operator=(ModelFiles&&) noexcept = default;
ModelFiles::~ModelFiles() = default;

Result<ModelFiles> ModelFiles::open(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return Error{"there is no model " + path.string(), "name a GGUF file or a Hugging Face folder", {}};
  }
  if (fs::is_directory(status)) {
    KW_TRY(HuggingFaceModel model, open_huggingface_model(path));
    return ModelFiles(std::make_unique<Contents>(Contents{std::move(model), path}));
  }
  KW_TRY(GgufModel model, GgufModel::open(path));
  return ModelFiles(std::make_unique<Contents>(Contents{std::move(model), path}));
}

const ModelDescription& ModelFiles::description() const {
  if (const auto* gguf = std::get_if<GgufModel>(&contents_->model)) return gguf->description();
  return std::get<HuggingFaceModel>(contents_->model).description;
}

Result<void> ModelFiles::read(std::string_view name, std::span<float> out) const {
  if (const auto* gguf = std::get_if<GgufModel>(&contents_->model)) return gguf->read(name, out);
  return read_model_tensor(std::get<HuggingFaceModel>(contents_->model).weights, name, out);
}

std::optional<ModelFiles::Blocks> ModelFiles::blocks(std::string_view name) const {
  if (const auto* gguf = std::get_if<GgufModel>(&contents_->model)) {
    const GgufTensor* tensor = gguf->find(name);
    if (tensor == nullptr || tensor->shape.size() != 2) return std::nullopt;
    return Blocks{tensor->format, tensor->bytes, gguf->row_order(name)};
  }
  const TensorView* tensor = std::get<HuggingFaceModel>(contents_->model).weights.find(name);
  if (tensor == nullptr || tensor->shape.size() != 2) return std::nullopt;
  switch (tensor->type) {
    case ElementType::f32:
      return Blocks{BlockFormat::f32, tensor->bytes, {}};
    case ElementType::f16:
      return Blocks{BlockFormat::f16, tensor->bytes, {}};
    case ElementType::bf16:
      return Blocks{BlockFormat::bf16, tensor->bytes, {}};
    default:
      return std::nullopt;
  }
}

Result<std::optional<Nf4Tensor>> ModelFiles::nf4(std::string_view name) const {
  const auto* folder = std::get_if<HuggingFaceModel>(&contents_->model);
  if (folder == nullptr || !is_nf4(folder->weights, name)) return std::optional<Nf4Tensor>();
  const auto find = [&](std::string_view part) { return folder->weights.find(part); };
  KW_TRY(Nf4Tensor tensor, read_nf4(find, std::string(name)));
  return std::optional<Nf4Tensor>(std::move(tensor));
}

Result<Tokenizer> ModelFiles::tokenizer() const {
  const auto* gguf = std::get_if<GgufModel>(&contents_->model);
  if (gguf == nullptr) return load_tokenizer_json(contents_->path / "tokenizer.json");
  KW_TRY(GgufVocabulary vocabulary, vocabulary_of_gguf(gguf->content()));
  VocabularyArrays arrays;
  arrays.model = std::move(vocabulary.model);
  arrays.pre = std::move(vocabulary.pre);
  arrays.tokens = std::move(vocabulary.tokens);
  for (const std::int64_t type : vocabulary.types) arrays.types.push_back(static_cast<int>(type));
  arrays.merges = std::move(vocabulary.merges);
  KW_TRY(TokenizerSpec spec, spec_from_gguf(arrays));
  return Tokenizer::make(std::move(spec));
}

Result<Parameters> load_parameters(const ModelFiles& files, const LoadProgress& progress) {
  Parameters parameters(files.description());
  std::int64_t done_bytes = 0;
  const auto all_bytes = static_cast<std::int64_t>(parameters.values.size() * sizeof(float));
  for (const ParameterLayout::Place& place : parameters.layout.places) {
    const std::int64_t count = element_count(place.tensor.shape).value();
    KW_TRY_VOID(files.read(place.tensor.name, parameters.at(place.offset, count)));
    done_bytes += count * static_cast<std::int64_t>(sizeof(float));
    if (progress) progress(done_bytes, all_bytes);
  }
  return parameters;
}

namespace {

Result<void> write_tokenizer(const fs::path& folder, const Tokenizer& tokenizer, const ModelDescription& description) {
  KW_TRY_VOID(
      write_file_atomic(folder / "tokenizer.json", to_tokenizer_json(tokenizer.spec()), Durability::power_loss));
  nlohmann::json config;  // what AutoTokenizer needs besides tokenizer.json
  config["tokenizer_class"] = "PreTrainedTokenizerFast";
  config["clean_up_tokenization_spaces"] = false;
  config["model_max_length"] = description.context;
  const auto name = [&](std::int64_t id) -> std::optional<std::string> {
    if (id < 0 || id >= static_cast<std::int64_t>(tokenizer.size())) return std::nullopt;
    return tokenizer.bytes_of(static_cast<TokenId>(id));
  };
  if (description.bos_id) {
    if (const auto bos = name(*description.bos_id)) config["bos_token"] = *bos;
  }
  if (!description.eos_ids.empty()) {
    if (const auto eos = name(description.eos_ids.front())) config["eos_token"] = *eos;
  }
  const std::string text = config.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return write_file_atomic(folder / "tokenizer_config.json", text, Durability::power_loss);
}

Result<void> write_all(const fs::path& folder, const Parameters& parameters, const Tokenizer* tokenizer,
                       ElementType type, std::int64_t max_shard_bytes) {
  ModelDescription description = parameters.description;
  description.stored_type = type;
  if (tokenizer != nullptr) KW_TRY_VOID(write_tokenizer(folder, *tokenizer, description));
  KW_TRY_VOID(write_huggingface_config(folder, description));
  std::vector<OutgoingTensor> tensors;
  for (const ParameterLayout::Place& place : parameters.layout.places) {
    const auto count = static_cast<std::size_t>(element_count(place.tensor.shape).value());
    const auto values = std::span(parameters.values).subspan(static_cast<std::size_t>(place.offset), count);
    tensors.push_back(outgoing_floats(place.tensor.name, place.tensor.shape, values, type));
  }
  return write_weight_folder(folder, std::move(tensors), max_shard_bytes);
}

}  // namespace

Result<void> save_model(const fs::path& folder, const Parameters& parameters, const Tokenizer* tokenizer,
                        ElementType type, std::int64_t max_shard_bytes) {
  std::error_code error;
  if (type != ElementType::f32 && type != ElementType::f16 && type != ElementType::bf16) {
    return Error{"a model cannot be saved as " + std::string(safetensors_name(type)), "F32, F16 or BF16", {}};
  }
  // An older save is overwritten file by file; a new one appears as a whole.
  if (fs::exists(folder, error)) return write_all(folder, parameters, tokenizer, type, max_shard_bytes);
  const fs::path whole = fs::absolute(folder).lexically_normal();
  const fs::path target = whole.has_filename() ? whole : whole.parent_path();
  const fs::path temporary = target.string() + ".new." + std::to_string(::getpid());
  fs::create_directories(temporary, error);
  if (error) return Error{"cannot make the folder " + temporary.string() + ": " + error.message(), "", {}};
  const auto written = write_all(temporary, parameters, tokenizer, type, max_shard_bytes);
  if (written.ok()) {
    fs::rename(temporary, target, error);
    if (!error) return {};
  }
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  if (!written.ok()) return written.error();
  return Error{"cannot write " + target.string() + ": " + error.message(), "", {}};
}

}  // namespace kw
