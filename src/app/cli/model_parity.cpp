// What other programs are compared with: all logits of a sequence, the gradients of a batch.

#include <fmt/format.h>

#include <iostream>

#include "app/cli/model_command.h"
#include "app/cli/model_load.h"
#include "app/cli/token_list.h"
#include "model/decoder/cpu_trainer.h"
#include "model/decoder/gradient_file.h"
#include "model/decoder/sequence_logits.h"
#include "model/weights/safetensors_writer.h"

namespace kw::cli {
namespace {

struct LogitsArguments {
  std::string model;
  std::string adapter;
  std::string tokens;
  std::string out;
  bool quantised = false;
};

Result<void> write_logits(const LogitsArguments& arguments) {
  KW_TRY(const auto sequences, parse_token_list(arguments.tokens));
  KW_TRY(const ModelFiles files, open_model(arguments.model));
  KW_TRY(const std::vector<Adapter> adapters, load_adapters(arguments.adapter, files.description()));
  ThreadTeam team;
  // The two ways of holding weights agree to the last bit; both can be compared.
  KW_TRY(
      BaseWeights base, arguments.quantised ? BaseWeights::frozen(files) : [&]() -> Result<BaseWeights> {
        KW_TRY(Parameters parameters, load_with_progress(files));
        return BaseWeights(std::move(parameters));
      }());
  std::vector<std::vector<float>> values;
  values.reserve(sequences.size());
  std::vector<OutgoingTensor> tensors;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    KW_TRY(std::vector<float> logits, sequence_logits(team, base, adapters, sequences[i], adapters.empty() ? -1 : 0));
    values.push_back(std::move(logits));
    const Shape shape{static_cast<std::int64_t>(sequences[i].size()), files.description().vocabulary};
    tensors.push_back(
        outgoing_floats(i == 0 ? "logits" : "logits." + std::to_string(i), shape, values.back(), ElementType::f32));
  }
  return write_safetensors(arguments.out, std::move(tensors));
}

struct GradientArguments {
  std::string model;
  std::string adapter;
  std::string batch;
  std::string out;
  bool recompute = false;
};

Result<void> write_gradients(const GradientArguments& arguments) {
  KW_TRY(const SafetensorsFile input, SafetensorsFile::open(arguments.batch));
  auto read = read_batch_file(input);
  if (!read.ok()) return Error{read.error().message, read.error().advice, {arguments.batch}};
  BatchFile& file = *read;
  KW_TRY(const ModelFiles files, open_model(arguments.model));
  KW_TRY(const std::vector<Adapter> adapters, load_adapters(arguments.adapter, files.description()));
  if (adapters.empty()) file.batch.adapter.clear();  // full training: the batch's adapters do not count
  TrainingOptions options;
  options.train_base = adapters.empty();
  options.recompute = arguments.recompute;
  ThreadTeam team;
  KW_TRY(const auto trainer,
         adapters.empty() ? [&]() -> Result<std::unique_ptr<Trainer>> {
           KW_TRY(Parameters parameters, load_with_progress(files));
           return make_cpu_trainer(team, std::move(parameters), {}, options, {});
         }()
                          : make_cpu_trainer(team, files, adapters, options, {}));
  KW_TRY(const TokenScores scores, trainer->forward(file.batch));
  KW_TRY_VOID(trainer->backward(file.gradients));
  KW_TRY(const NamedGradients gradients, read_gradients(*trainer, files.description(), adapters));
  std::vector<OutgoingTensor> tensors;
  const Shape scored{static_cast<std::int64_t>(scores.log_prob.size())};
  tensors.push_back(outgoing_floats("log_prob", scored, scores.log_prob, ElementType::f32));
  tensors.push_back(outgoing_floats("entropy", scored, scores.entropy, ElementType::f32));
  for (const auto& [name, gradient] : gradients)
    tensors.push_back(outgoing_floats("gradient." + name, gradient.shape, gradient.values, ElementType::f32));
  return write_safetensors(arguments.out, std::move(tensors));
}

void finish(Context& context, const Result<void>& done, const std::string& out) {
  if (!done.ok()) return fail(context, done.error());
  std::cout << out << "\n";
}

}  // namespace

void add_model_parity_commands(CLI::App& model, Context& context) {
  auto* logits = model.add_subcommand("logits", "All logits of token sequences, into a safetensors file");
  auto arguments = std::make_shared<LogitsArguments>();
  logits->add_option("MODEL", arguments->model, "GGUF file, Hugging Face folder, or a fetched name")->required();
  logits->add_option("--tokens", arguments->tokens, "ids, as in 1,2,3; a semicolon begins another sequence")
      ->required();
  logits->add_option("--out", arguments->out, "file to write: logits, logits.1, ...")->required();
  logits->add_option("--adapter", arguments->adapter, "folder of a LoRA adapter (PEFT)");
  logits->add_flag("--quantised", arguments->quantised, "keep weights as the file has them instead of float32");
  logits->footer("Example:\n  kernelwright model logits smollm2-135m --tokens 1,4093,198 --out logits.safetensors");
  logits->callback([&context, arguments] { finish(context, write_logits(*arguments), arguments->out); });

  auto* gradients = model.add_subcommand("gradients", "Scores and gradients of a batch, into a safetensors file");
  auto batch = std::make_shared<GradientArguments>();
  gradients->add_option("MODEL", batch->model, "GGUF file, Hugging Face folder, or a fetched name")->required();
  gradients
      ->add_option("--batch", batch->batch, "safetensors file: batch.tokens, batch.starts, ... (model/gradient_file.h)")
      ->required();
  gradients->add_option("--out", batch->out, "file to write: log_prob, entropy, gradient.NAME")->required();
  gradients->add_option("--adapter", batch->adapter, "train this LoRA adapter (PEFT) instead of the whole model");
  gradients->add_flag("--recompute", batch->recompute, "recompute activations in the backward pass");
  gradients->footer(
      "Example:\n  kernelwright model gradients tests/model/qwen2_f32 --batch "
      "tests/model/qwen2_f32/expected.safetensors "
      "--out gradients.safetensors");
  gradients->callback([&context, batch] { finish(context, write_gradients(*batch), batch->out); });
}

}  // namespace kw::cli
