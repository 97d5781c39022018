#include <iostream>

#include "app/cli/model_command.h"
#include "app/cli/model_load.h"
#include "app/cli/token_list.h"
#include "base/interrupt.h"
#include "model/arithmetic/thread_team.h"
#include "model/rollout/rollout.h"

namespace kw::cli {
namespace {

struct GenerateArguments {
  std::string model;
  std::string adapter;
  std::string tokens;
  std::int64_t max_tokens = 64;
  std::int64_t samples = 1;
  float temperature = 0;
  std::uint64_t seed = 1;
  bool stop = false;
  std::string device = "auto";
};

Result<Json> generate(const GenerateArguments& arguments) {
  KW_TRY(const auto prompts, parse_token_list(arguments.tokens));
  KW_TRY(const ModelFiles files, open_model(arguments.model));
  KW_TRY(const std::vector<Adapter> adapters, load_adapters(arguments.adapter, files.description()));
  ThreadTeam team;
  KW_TRY(const auto decoder, open_decoder(arguments.device, team, files, adapters));
  Rollout rollout(*decoder);
  std::vector<RequestId> ids;
  for (const auto& prompt : prompts) {
    GenerationRequest request;
    request.prompt = prompt;
    request.samples = arguments.samples;
    request.rule = {arguments.temperature, 0, 1, arguments.seed};
    request.max_tokens = arguments.max_tokens;
    if (arguments.stop) {
      for (const std::int64_t id : files.description().eos_ids)
        request.stop_tokens.push_back(static_cast<std::int32_t>(id));
    }
    request.adapter = adapters.empty() ? -1 : 0;
    KW_TRY(const RequestId id, rollout.submit(std::move(request)));
    ids.push_back(id);
  }
  while (!rollout.idle()) {
    if (interrupted()) return Error{"interrupted", "", {}};
    KW_TRY([[maybe_unused]] const bool worked, rollout.advance());
  }
  std::map<RequestId, Json> by_id;
  for (const GenerationResult& result : rollout.take_finished()) {
    Json samples = Json::array();
    for (const GeneratedSample& sample : result.samples)
      samples.push_back(
          {{"tokens", sample.tokens}, {"log_probs", sample.log_probs}, {"finish", to_string(sample.finish)}});
    by_id[result.id] = std::move(samples);
  }
  Json answers = Json::array();
  for (const RequestId id : ids) answers.push_back(by_id.at(id));
  return answers;
}

}  // namespace

void add_model_generate_command(CLI::App& model, Context& context) {
  auto* command = model.add_subcommand("generate", "Continues token sequences, all in one batch; prints JSON");
  auto arguments = std::make_shared<GenerateArguments>();
  command->add_option("MODEL", arguments->model, "GGUF file, Hugging Face folder, or a fetched name")->required();
  command->add_option("--tokens", arguments->tokens, "ids, as in 1,2,3; a semicolon begins another sequence")
      ->required();
  command->add_option("--adapter", arguments->adapter, "folder of a LoRA adapter (PEFT)");
  add_device_option(*command, arguments->device);
  command->add_option("--max-tokens", arguments->max_tokens, "maximum length of a continuation")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--samples", arguments->samples, "continuations of each sequence")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--temperature", arguments->temperature, "0: always the likeliest token")->capture_default_str();
  command->add_option("--seed", arguments->seed, "the same seed gives the same result")->capture_default_str();
  command->add_flag("--stop", arguments->stop, "an answer ends with the model's end token");
  command->footer("Example:\n  kernelwright model generate smollm2-135m --tokens '504,3575;1,4093' --max-tokens 16");
  command->callback([&context, arguments] {
    context.json = true;
    const auto answers = generate(*arguments);
    if (!answers.ok()) {
      fail(context, answers.error());
      if (interrupted()) context.exit_code = exit_interrupted;
      return;
    }
    std::cout << answers->dump() << "\n";
  });
}

}  // namespace kw::cli
