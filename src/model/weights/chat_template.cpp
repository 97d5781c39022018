#include "model/weights/chat_template.h"

#include "base/bounded_json.h"
#include "base/file.h"
#include "model/weights/gguf_model.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t max_text_file_bytes = 64u << 20;

std::string template_of_folder(const fs::path& folder) {
  if (auto text = read_file(folder / "chat_template.jinja", max_text_file_bytes); text.ok())
    return std::move(text).value();
  const auto text = read_file(folder / "tokenizer_config.json", max_text_file_bytes);
  if (!text.ok()) return "";
  const auto config = parse_bounded_json(*text);
  if (!config.ok() || !config->is_object()) return "";
  const auto found = config->find("chat_template");
  return found != config->end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string chat_template_of(const fs::path& model) {
  std::error_code ignored;
  if (fs::is_directory(model, ignored)) return template_of_folder(model);
  const auto gguf = GgufModel::open(model);
  if (!gguf.ok()) return "";
  const auto vocabulary = vocabulary_of_gguf(gguf->content());
  return vocabulary.ok() ? vocabulary->chat_template : "";
}

std::string default_system_of(const std::string& chat_template) {
  for (const char* known : {"You are a helpful AI assistant named SmolLM, trained by Hugging Face",
                            "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."})
    if (chat_template.find(known) != std::string::npos) return known;
  return "";
}

}  // namespace kw
