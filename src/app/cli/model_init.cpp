#include <fmt/format.h>

#include <iostream>

#include "app/cli/model_command.h"
#include "app/cli/model_source.h"
#include "model/arithmetic/thread_team.h"
#include "model/decoder/model_files.h"
#include "model/decoder/presets.h"
#include "model/tokenizer/tokenizer_json.h"

namespace kw::cli {
namespace fs = std::filesystem;
namespace {

struct InitArguments {
  std::string preset;
  std::int64_t vocabulary = 0;
  std::string tokenizer;
  std::uint64_t seed = 1;
  std::string to;
  std::string type = "f32";
};

Result<ModelDescription> write_model(const InitArguments& arguments) {
  const auto type = element_type_from_argument(arguments.type);
  if (!type) return Error{"the type '" + arguments.type + "' is not known", "f32, bf16 or f16", {}};
  if (fs::exists(arguments.to)) return Error{arguments.to + " exists already", "name a new folder", {}};
  std::optional<Tokenizer> tokenizer;
  std::int64_t vocabulary = arguments.vocabulary;
  if (!arguments.tokenizer.empty()) {
    KW_TRY(tokenizer, load_tokenizer_json(arguments.tokenizer));
    const auto tokens = static_cast<std::int64_t>(tokenizer->size());
    if (vocabulary == 0) vocabulary = tokens;
    if (vocabulary < tokens) {
      return Error{fmt::format("the tokenizer has {} tokens, the vocabulary is to have {}", tokens, vocabulary),
                   "leave --vocabulary out, or make it larger",
                   {}};
    }
  }
  if (vocabulary == 0) vocabulary = 2048;
  KW_TRY(ModelDescription description, preset_description(arguments.preset, vocabulary));
  if (tokenizer && static_cast<std::int64_t>(tokenizer->size()) > description.vocabulary) {
    return Error{"the tokenizer has more tokens than the preset's vocabulary", "", {}};
  }
  if (tokenizer) {
    for (const char* end : {"<|im_end|>", "<|endoftext|>"})
      if (const auto id = tokenizer->find(end)) description.eos_ids.push_back(*id);
  }
  ThreadTeam team;
  const Parameters parameters = initial_parameters(team, description, arguments.seed);
  KW_TRY_VOID(save_model(arguments.to, parameters, tokenizer ? &*tokenizer : nullptr, *type));
  return description;
}

void run_init(Context& context, const InitArguments& arguments) {
  const auto description = write_model(arguments);
  if (!description.ok()) return fail(context, description.error());
  const std::int64_t parameters = parameter_count(*description);
  if (context.json) return print_json({{"folder", arguments.to}, {"parameters", parameters}});
  std::cout << fmt::format("{}: {} parameters, random, seed {}\n", arguments.to, grouped(parameters), arguments.seed);
}

}  // namespace

void add_model_init_command(CLI::App& model, Context& context) {
  auto* init = model.add_subcommand("init", "Creates a model with random weights, to be trained from scratch");
  add_json_flag(*init, context);
  auto arguments = std::make_shared<InitArguments>();
  std::string names;
  for (const std::string_view name : preset_names()) names += (names.empty() ? "" : ", ") + std::string(name);
  init->add_option("PRESET", arguments->preset, names)->required();
  init->add_option("--to", arguments->to, "folder to write")->required();
  init->add_option("--vocabulary", arguments->vocabulary, "rows of the embedding (default: the tokenizer's, or 2048)")
      ->check(CLI::PositiveNumber);
  init->add_option("--tokenizer", arguments->tokenizer, "tokenizer.json that goes with it");
  init->add_option("--seed", arguments->seed, "the same seed gives the same weights")->capture_default_str();
  init->add_option("--type", arguments->type, "f32, bf16 or f16")->capture_default_str();
  init->footer("Example:\n  kernelwright model init tiny-1m --tokenizer tests/tokenizer/trained.json --to tiny");
  init->callback([&context, arguments] { run_init(context, *arguments); });
}

}  // namespace kw::cli
