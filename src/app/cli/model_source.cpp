#include "app/cli/model_source.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/vocabulary_sources.h"
#include "model/weights/chat_template.h"
#include "model/weights/gguf_model.h"
#include "model/weights/huggingface_config.h"
#include "model/weights/nf4.h"
#include "model/weights/nf4_folder.h"

namespace kw::cli {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;
constexpr std::size_t max_text_file_bytes = 64u << 20;
// What may lie beside tokenizer.json and belongs to it.
constexpr const char* tokenizer_files[] = {"tokenizer.json",    "tokenizer_config.json", "special_tokens_map.json",
                                           "added_tokens.json", "chat_template.jinja",   "vocab.json",
                                           "merges.txt"};

std::string_view block_name(BlockFormat format) {
  switch (format) {
    case BlockFormat::f32:
      return "F32";
    case BlockFormat::f16:
      return "F16";
    case BlockFormat::bf16:
      return "BF16";
    case BlockFormat::q8_0:
      return "Q8_0";
    case BlockFormat::q4_0:
      return "Q4_0";
    case BlockFormat::q4_1:
      return "Q4_1";
    case BlockFormat::q4_k:
      return "Q4_K";
    case BlockFormat::q6_k:
      return "Q6_K";
  }
  return "";
}

Error in_file(Error error, const fs::path& path) {
  if (error.where.file.empty()) error.where.file = path.string();
  return error;
}

VocabularyArrays arrays_of(const GgufVocabulary& vocabulary) {
  VocabularyArrays arrays;
  arrays.model = vocabulary.model;
  arrays.pre = vocabulary.pre;
  arrays.tokens = vocabulary.tokens;
  arrays.types.assign(vocabulary.types.begin(), vocabulary.types.end());
  arrays.merges = vocabulary.merges;
  return arrays;
}

}  // namespace

struct ModelSource::Contents {
  fs::path path;
  ModelDescription description;
  std::vector<StoredTensor> tensors;
  std::optional<GgufModel> gguf;
  std::optional<WeightFolder> folder;
};

ModelSource::ModelSource(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
ModelSource::ModelSource(ModelSource&&) noexcept = default;
ModelSource& ModelSource::operator=(ModelSource&&) noexcept = default;
ModelSource::~ModelSource() = default;

namespace {

std::vector<StoredTensor> list_gguf(const GgufModel& model) {
  std::map<std::string, const GgufTensor*> by_name;
  for (const GgufTensor& tensor : model.content().tensors)
    if (const auto name = huggingface_tensor_name(tensor.name)) by_name[*name] = &tensor;
  std::vector<StoredTensor> tensors;
  for (const NamedShape& each : model.tensors()) {
    const GgufTensor& stored = *by_name.at(each.name);
    tensors.push_back({each.name, each.shape, std::string(block_name(stored.format)),
                       static_cast<std::int64_t>(stored.bytes.size())});
  }
  return tensors;
}

// Checks a folder's tensors against its description, those of NF4 by the shape in their quant_state.
Result<std::vector<StoredTensor>> list_folder(const WeightFolder& folder, const ModelDescription& description) {
  std::map<std::string, StoredTensor> found;
  std::vector<NamedShape> shapes;
  const FindTensor find = [&](std::string_view name) { return folder.find(name); };
  for (const TensorView* tensor : folder.tensors()) {
    const std::string& name = tensor->name;
    // Parts of an NF4 weight belong to the tensor that they describe.
    if (const auto owner = nf4_owner(folder, name)) {
      found[*owner].bytes += static_cast<std::int64_t>(tensor->bytes.size());
      continue;
    }
    StoredTensor& stored = found[name];
    stored.name = name;
    stored.bytes += static_cast<std::int64_t>(tensor->bytes.size());
    if (is_nf4(folder, name)) {
      KW_TRY(const Nf4Tensor quantised, read_nf4(find, name));
      stored.shape = quantised.shape;
      stored.format = "NF4";
    } else {
      stored.shape = tensor->shape;
      stored.format = safetensors_name(tensor->type);
    }
  }
  for (const auto& [name, stored] : found) shapes.push_back({name, stored.shape});
  KW_TRY_VOID(check_tensors(description, std::move(shapes)));
  std::vector<StoredTensor> tensors;
  for (const NamedShape& each : expected_tensors(description)) tensors.push_back(found.at(each.name));
  return tensors;
}

}  // namespace

Result<ModelSource> ModelSource::open(const fs::path& path) {
  auto contents = std::make_unique<Contents>();
  contents->path = path;
  std::error_code failure;
  const auto status = fs::status(path, failure);
  if (failure || !fs::exists(status)) {
    return Error{"there is no model at " + path.string(), "name a GGUF file or a Hugging Face folder", {}};
  }
  if (!fs::is_directory(status)) {
    auto model = GgufModel::open(path);
    if (!model.ok()) return in_file(model.error(), path);
    contents->gguf = std::move(model).value();
    contents->description = contents->gguf->description();
    contents->tensors = list_gguf(*contents->gguf);
    return ModelSource(std::move(contents));
  }
  if (!fs::exists(path / "config.json")) {
    const bool adapter = fs::exists(path / "adapter_config.json");
    return Error{"there is no config.json in " + path.string(),
                 adapter ? "this folder holds an adapter: name its base model" : "",
                 {}};
  }
  KW_TRY(const auto quantised, read_nf4_config(path));
  if (quantised) {
    contents->description = *quantised;
  } else {
    KW_TRY(contents->description, read_huggingface_config(path));
  }
  KW_TRY(contents->folder, WeightFolder::open(path));
  auto tensors = list_folder(*contents->folder, contents->description);
  if (!tensors.ok()) return in_file(tensors.error(), path);
  contents->tensors = std::move(tensors).value();
  return ModelSource(std::move(contents));
}

const fs::path& ModelSource::path() const { return contents_->path; }
const ModelDescription& ModelSource::description() const { return contents_->description; }
const std::vector<StoredTensor>& ModelSource::tensors() const { return contents_->tensors; }

std::string ModelSource::kind() const {
  if (contents_->gguf) return "GGUF file";
  const std::size_t shards = contents_->folder->shard_count();
  return "Hugging Face folder" + (shards > 1 ? " of " + std::to_string(shards) + " shards" : std::string());
}

Result<void> ModelSource::read(const std::string& name, std::span<float> out) const {
  if (contents_->gguf) return contents_->gguf->read(name, out);
  return read_model_tensor(*contents_->folder, name, out);
}

OutgoingTensor ModelSource::outgoing(const StoredTensor& tensor, ElementType type) const {
  // What is stored in that type already is passed through untouched.
  if (contents_->folder && tensor.format == safetensors_name(type))
    return kw::outgoing(*contents_->folder->find(tensor.name));
  const auto produce = [this, tensor, type](std::vector<std::byte>& scratch) -> Result<std::span<const std::byte>> {
    std::vector<float> values(static_cast<std::size_t>(element_count(tensor.shape).value()));
    KW_TRY_VOID(read(tensor.name, values));
    KW_TRY(scratch, encode_floats(values, type));
    return std::span<const std::byte>(scratch);
  };
  return {tensor.name, type, tensor.shape, produce};
}

bool ModelSource::has_tokenizer() const {
  if (contents_->gguf) return contents_->gguf->content().find("tokenizer.ggml.tokens") != nullptr;
  return fs::exists(contents_->path / "tokenizer.json");
}

Result<Tokenizer> ModelSource::tokenizer() const {
  if (!has_tokenizer()) {
    return Error{
        contents_->path.string() + " has no tokenizer", contents_->gguf ? "" : "tokenizer.json is missing", {}};
  }
  if (!contents_->gguf) return load_tokenizer_json(contents_->path / "tokenizer.json");
  KW_TRY(const GgufVocabulary vocabulary, vocabulary_of_gguf(contents_->gguf->content()));
  KW_TRY(TokenizerSpec spec, spec_from_gguf(arrays_of(vocabulary)));
  return Tokenizer::make(std::move(spec));
}

std::string ModelSource::chat_template() const { return chat_template_of(contents_->path); }

Result<void> ModelSource::write_tokenizer_files(const fs::path& folder) const {
  if (!contents_->gguf) {
    for (const char* name : tokenizer_files) {
      if (!fs::exists(contents_->path / name)) continue;
      KW_TRY(const std::string bytes, read_file(contents_->path / name, max_text_file_bytes));
      KW_TRY_VOID(write_file_atomic(folder / name, bytes));
    }
    return {};
  }
  if (!has_tokenizer()) return {};
  KW_TRY(const GgufVocabulary vocabulary, vocabulary_of_gguf(contents_->gguf->content()));
  KW_TRY(const TokenizerSpec spec, spec_from_gguf(arrays_of(vocabulary)));
  KW_TRY_VOID(write_file_atomic(folder / "tokenizer.json", to_tokenizer_json(spec)));
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"clean_up_tokenization_spaces", false},
              {"model_max_length", contents_->description.context}};
  const auto name_token = [&](const char* key, const std::optional<std::int64_t>& id) {
    if (id) config[key] = vocabulary.tokens[static_cast<std::size_t>(*id)];
  };
  name_token("bos_token", vocabulary.bos_id);
  name_token("eos_token", vocabulary.eos_id);
  name_token("unk_token", vocabulary.unknown_id);
  name_token("pad_token", vocabulary.padding_id);
  if (!vocabulary.chat_template.empty()) config["chat_template"] = vocabulary.chat_template;
  return write_file_atomic(folder / "tokenizer_config.json", config.dump(2) + "\n");
}

std::optional<ElementType> element_type_from_argument(const std::string& name) {
  if (name == "f32") return ElementType::f32;
  if (name == "bf16") return ElementType::bf16;
  if (name == "f16") return ElementType::f16;
  return std::nullopt;
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3 && digits[at - 4] != '-';) digits.insert(at -= 3, ",");
  return digits;
}

}  // namespace kw::cli
