#include <fmt/format.h>

#include <iostream>
#include <map>

#include "agents/episode/agent_set.h"
#include "app/cli/model_command.h"
#include "app/cli/model_source.h"
#include "base/table.h"
#include "model/weights/lora_adapter.h"

namespace kw::cli {
namespace fs = std::filesystem;
namespace {

struct FormatCount {
  std::int64_t tensors = 0;
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;
};

std::map<std::string, FormatCount> count_formats(const ModelSource& source) {
  std::map<std::string, FormatCount> counts;
  for (const StoredTensor& tensor : source.tensors()) {
    FormatCount& count = counts[tensor.format];
    ++count.tensors;
    count.parameters += element_count(tensor.shape).value();
    count.bytes += tensor.bytes;
  }
  return counts;
}

std::string token_text(const Tokenizer& tokenizer, std::int64_t id) {
  if (id < 0 || id >= static_cast<std::int64_t>(tokenizer.size())) return std::to_string(id);
  return fmt::format(
      "{} {}", id,
      Json(tokenizer.bytes_of(static_cast<TokenId>(id))).dump(-1, ' ', false, Json::error_handler_t::replace));
}

// `tensors`: also one line for each.
void print_model(Context& context, const ModelSource& source, bool tensors) {
  const ModelDescription& model = source.description();
  const auto counts = count_formats(source);
  std::int64_t bytes = 0;
  for (const auto& [format, count] : counts) bytes += count.bytes;
  const std::string chat = source.chat_template();
  const bool chatml = chat.find("<|im_start|>") != std::string::npos;
  const auto tokenizer = source.tokenizer();
  if (context.json) {
    Json formats = Json::object(), list = Json::array();
    for (const auto& [format, count] : counts)
      formats[format] = {{"tensors", count.tensors}, {"parameters", count.parameters}, {"bytes", count.bytes}};
    for (const StoredTensor& tensor : source.tensors())
      list.push_back(
          {{"name", tensor.name}, {"shape", tensor.shape}, {"format", tensor.format}, {"bytes", tensor.bytes}});
    Json json{{"path", source.path().string()},
              {"kind", source.kind()},
              {"architecture", to_string(model.architecture)},
              {"parameters", parameter_count(model)},
              {"bytes", bytes},
              {"layers", model.layers},
              {"hidden", model.hidden},
              {"heads", model.heads},
              {"kv_heads", model.kv_heads},
              {"head_dim", model.head_dim},
              {"intermediate", model.intermediate},
              {"vocabulary", model.vocabulary},
              {"context", model.context},
              {"rope_base", model.rope_base},
              {"rms_epsilon", model.rms_epsilon},
              {"tied_embeddings", model.tied_embeddings},
              {"attention_bias", model.attention_bias},
              {"bos_id", model.bos_id ? Json(*model.bos_id) : Json()},
              {"eos_ids", model.eos_ids},
              {"formats", formats},
              {"tokenizer_tokens", tokenizer.ok() ? Json(tokenizer->size()) : Json()},
              {"chat_template", chat.empty() ? "none"
                                : chatml     ? "ChatML"
                                             : "other"}};
    if (tensors) json["tensors"] = list;
    return print_json(json);
  }
  std::cout << fmt::format("{}: {}\n", source.path().string(), source.kind());
  std::cout << fmt::format("{} model, {} parameters, {}, {:.2f} bits a parameter\n", to_string(model.architecture),
                           grouped(parameter_count(model)), bytes_text(static_cast<double>(bytes)),
                           8.0 * static_cast<double>(bytes) / static_cast<double>(parameter_count(model)));
  std::cout << fmt::format("{} layers, hidden {}, {} query and {} key/value heads of {}, feed-forward {}\n",
                           model.layers, model.hidden, model.heads, model.kv_heads, model.head_dim, model.intermediate);
  std::cout << fmt::format(
      "vocabulary {}, context {}, rope base {:g}, rms epsilon {:g}, {} embeddings, {} attention biases\n",
      model.vocabulary, model.context, model.rope_base, model.rms_epsilon, model.tied_embeddings ? "tied" : "untied",
      model.attention_bias ? "with" : "without");
  Table table({"stored as", "tensors", "parameters", "bytes"}, {Align::left, Align::right, Align::right, Align::right});
  for (const auto& [format, count] : counts)
    table.add(
        {format, grouped(count.tensors), grouped(count.parameters), bytes_text(static_cast<double>(count.bytes))});
  std::cout << table.text();
  if (tokenizer.ok()) {
    std::string ends;
    for (const std::int64_t id : model.eos_ids) ends += (ends.empty() ? "" : ", ") + token_text(*tokenizer, id);
    std::cout << fmt::format("tokenizer: {} tokens, {} merges; an answer ends with {}\n", tokenizer->size(),
                             tokenizer->spec().merges.size(), ends.empty() ? "no token of its own" : ends);
  } else {
    std::cout << "tokenizer: " << tokenizer.error().message << "\n";
  }
  std::cout << "chat template: "
            << (chat.empty() ? "none"
                : chatml     ? "ChatML"
                             : "not ChatML; `model chat` would use ChatML")
            << "\n";
  if (!tensors) return;
  Table list({"tensor", "shape", "stored as"});
  for (const StoredTensor& tensor : source.tensors()) list.add({tensor.name, to_string(tensor.shape), tensor.format});
  std::cout << list.text();
}

void print_adapter(Context& context, const fs::path& folder, const LoraAdapter& adapter) {
  std::int64_t parameters = 0;
  std::map<std::string, std::int64_t> kinds;  // "q_proj" -> layers
  for (const auto& [path, matrices] : adapter.modules) {
    parameters += static_cast<std::int64_t>(matrices.a.size() + matrices.b.size());
    ++kinds[path.substr(path.rfind('.') + 1)];
  }
  if (context.json) {
    return print_json({{"path", folder.string()},
                       {"kind", "LoRA adapter"},
                       {"rank", adapter.rank},
                       {"alpha", adapter.alpha},
                       {"scale", lora_scale(adapter)},
                       {"parameters", parameters},
                       {"base_model", adapter.base_model},
                       {"modules", kinds}});
  }
  std::string list;
  for (const auto& [kind, layers] : kinds)
    list += fmt::format("{}{} in {} layers", list.empty() ? "" : ", ", kind, layers);
  std::cout << fmt::format("{}: LoRA adapter (PEFT), rank {}, alpha {:g}, scale {:g}, {} parameters\n", folder.string(),
                           adapter.rank, adapter.alpha, lora_scale(adapter), grouped(parameters))
            << "adapts " << list << "\n"
            << "base model: " << (adapter.base_model.empty() ? "not said" : adapter.base_model) << "\n";
}

void run_info(Context& context, const std::string& name, bool tensors) {
  const auto agents = find_agents(name);
  if (!agents.ok()) return fail(context, agents.error());
  const fs::path* path = &agents->base;
  if (fs::exists(*path / "adapter_config.json") && !fs::exists(*path / "config.json")) {
    const auto adapter = read_lora_adapter(*path);
    if (!adapter.ok()) return fail(context, adapter.error());
    return print_adapter(context, *path, *adapter);
  }
  const auto source = ModelSource::open(*path);
  if (!source.ok()) return fail(context, source.error());
  print_model(context, *source, tensors);
}

struct TokenizeArguments {
  std::string model;
  std::string text;
  bool special = false;
};

void run_tokenize(Context& context, const TokenizeArguments& arguments) {
  const auto agents = find_agents(arguments.model);
  if (!agents.ok()) return fail(context, agents.error());
  const auto source = ModelSource::open(agents->base);
  if (!source.ok()) return fail(context, source.error());
  const auto tokenizer = source->tokenizer();
  if (!tokenizer.ok()) return fail(context, tokenizer.error());
  std::string text = arguments.text;
  if (text == "-") text.assign(std::istreambuf_iterator<char>(std::cin), {});
  const auto ids = tokenizer->encode(text, arguments.special ? SpecialTokens::recognised : SpecialTokens::as_text);
  if (!ids.ok()) return fail(context, ids.error());
  if (context.json) {
    Json pieces = Json::array();
    for (const TokenId id : *ids) pieces.push_back(tokenizer->bytes_of(id));
    return print_json({{"ids", *ids}, {"pieces", pieces}});
  }
  for (const TokenId id : *ids) std::cout << token_text(*tokenizer, id) << "\n";
  std::cout << fmt::format("{} tokens, {} bytes\n", ids->size(), text.size());
}

}  // namespace

void add_model_info_commands(CLI::App& model, Context& context) {
  auto* info =
      model.add_subcommand("info", "What a model is: shape, parameters, bytes, types, tokenizer; or an adapter");
  add_json_flag(*info, context);
  auto name = std::make_shared<std::string>();
  auto tensors = std::make_shared<bool>(false);
  info->add_option("MODEL", *name, "GGUF file, Hugging Face folder, adapter folder, agents, or a fetched name")
      ->required();
  info->add_flag("--tensors", *tensors, "list every tensor");
  info->footer("Examples:\n  kernelwright model info smollm2-135m\n  kernelwright model info my_adapter --json");
  info->callback([&context, name, tensors] { run_info(context, *name, *tensors); });

  auto* tokenize = model.add_subcommand("tokenize", "The tokens of a text");
  add_json_flag(*tokenize, context);
  auto arguments = std::make_shared<TokenizeArguments>();
  tokenize->add_option("MODEL", arguments->model, "GGUF file, Hugging Face folder, or a fetched name")->required();
  tokenize->add_option("TEXT", arguments->text, "the text; - reads standard input")->required();
  tokenize->add_flag("--special", arguments->special, "control tokens such as <|im_end|> are recognised in the text");
  tokenize->footer("Example:\n  kernelwright model tokenize smollm2-135m '__global__ void k()'");
  tokenize->callback([&context, arguments] { run_tokenize(context, *arguments); });
}

}  // namespace kw::cli
