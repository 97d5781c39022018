#include <fmt/format.h>

#include <chrono>
#include <iostream>

#include "app/cli/bench_command.h"
#include "app/cli/command.h"
#include "app/cli/model_load.h"
#include "app/cli/model_source.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "base/table.h"
#include "model/arithmetic/cpu_roof.h"
#include "model/decoder/cpu_trainer.h"
#include "model/decoder/model_name.h"
#include "model/decoder/pass_work.h"
#include "model/decoder/presets.h"
#include "model/rollout/cpu_decoder.h"
#include "model/rollout/rollout.h"

namespace kw::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct BenchArguments {
  std::vector<std::string> models{"tiny-1m", "tiny-3m"};  // presets, or models
  std::int64_t vocabulary = 2048;                         // of presets
  std::int64_t sequences = 8, length = 256;               // train
  std::int64_t lora_rank = 0;
  bool recompute = false;
  bool ragged = false;
  std::vector<std::int64_t> batches{1, 16, 64};  // rollout
  std::int64_t prompt = 64, tokens = 128;
  double seconds = 3;
  int threads = 0;
};

Result<Parameters> bench_parameters(ThreadTeam& team, const std::string& name, std::int64_t vocabulary) {
  const auto names = preset_names();
  if (std::ranges::find(names, name) == names.end()) {
    KW_TRY(const ModelFiles files, open_model(name));
    return load_with_progress(files);
  }
  KW_TRY(const ModelDescription description, preset_description(name, vocabulary));
  return initial_parameters(team, description, 1);
}

// Lengths of examples in tenths of their mean, as tasks with their kernels have them.
constexpr std::int64_t ragged_tenths[] = {4, 16, 7, 12, 9, 10, 5, 17};

// Sequences of one length, every token scored; or ragged ones whose second half, the answer, is.
PackedBatch random_batch(const ModelDescription& model, const BenchArguments& arguments) {
  Random random(2);
  PackedBatch batch;
  batch.starts.push_back(0);
  for (std::int64_t n = 0; n < arguments.sequences; ++n) {
    const std::int64_t length =
        arguments.ragged ? std::max<std::int64_t>(2, arguments.length * ragged_tenths[n % 8] / 10) : arguments.length;
    for (std::int64_t i = 0; i < length; ++i) {
      batch.tokens.push_back(static_cast<std::int32_t>(random.integer(0, model.vocabulary - 1)));
      batch.scored.push_back(i >= (arguments.ragged ? (length + 1) / 2 : 1) ? 1 : 0);
    }
    batch.starts.push_back(static_cast<std::int64_t>(batch.tokens.size()));
  }
  if (arguments.lora_rank > 0) batch.adapter.assign(static_cast<std::size_t>(arguments.sequences), 0);
  return batch;
}

Json roof_json(const MachineRoof& roof, int threads) {
  return {{"threads", threads}, {"gflops", roof.flops / 1e9}, {"gb_per_s", roof.bytes_per_s / 1e9}};
}

std::string roof_text(const MachineRoof& roof, int threads) {
  return fmt::format("{} threads: {:.0f} GFLOP/s of float32 multiply-adds, {:.1f} GB/s from memory\n", threads,
                     roof.flops / 1e9, roof.bytes_per_s / 1e9);
}

Result<Json> bench_train_one(ThreadTeam& team, const std::string& name, const BenchArguments& arguments,
                             const MachineRoof& roof) {
  KW_TRY(Parameters parameters, bench_parameters(team, name, arguments.vocabulary));
  const ModelDescription model = parameters.description;
  const bool lora = arguments.lora_rank > 0;
  std::vector<Adapter> adapters;
  if (lora) {
    adapters.push_back(make_adapter(model, "bench", arguments.lora_rank, 2.0f * static_cast<float>(arguments.lora_rank),
                                    {Projection::q, Projection::k, Projection::v, Projection::o, Projection::gate,
                                     Projection::up, Projection::down},
                                    1));
  }
  TrainingOptions options;
  options.train_base = !lora;
  options.recompute = arguments.recompute;
  KW_TRY(const auto trainer, make_cpu_trainer(team, std::move(parameters), std::move(adapters), options, {}));
  const PackedBatch batch = random_batch(model, arguments);
  const auto scored = static_cast<std::size_t>(std::count(batch.scored.begin(), batch.scored.end(), 1));
  ScoreGradients gradients;
  gradients.log_prob.assign(scored, -1.0f / static_cast<float>(scored));
  double best_s = 1e9, forward_s = 0, backward_s = 0, step_s = 0;
  std::int64_t steps = -1;  // the first one warms up
  auto start = Clock::now();
  for (; steps < 3 || seconds_since(start) < arguments.seconds; ++steps) {
    if (interrupted()) return Error{"interrupted", "", {}};
    if (steps == 0) start = Clock::now();
    const auto begin = Clock::now();
    KW_TRY([[maybe_unused]] const TokenScores scores, trainer->forward(batch));
    const auto middle = Clock::now();
    KW_TRY_VOID(trainer->backward(gradients));
    const auto end = Clock::now();
    KW_TRY([[maybe_unused]] const StepReport report, trainer->step(1e-4));
    if (steps < 0) continue;
    forward_s += std::chrono::duration<double>(middle - begin).count();
    backward_s += std::chrono::duration<double>(end - middle).count();
    step_s += seconds_since(end);
    best_s = std::min(best_s, seconds_since(begin));
  }
  const double all_s = seconds_since(start);
  const auto tokens = static_cast<double>(batch.tokens.size());
  const double flops = training_flops(model, batch, !lora);
  const auto count = static_cast<double>(steps);
  return Json{{"model", name},
              {"parameters", parameter_count(model)},
              {"sequences", arguments.sequences},
              {"length", arguments.length},
              {"lora_rank", arguments.lora_rank},
              {"steps", steps},
              {"tokens_per_s", tokens * count / all_s},
              {"best_tokens_per_s", tokens / best_s},
              {"forward_ms", 1e3 * forward_s / count},
              {"backward_ms", 1e3 * backward_s / count},
              {"step_ms", 1e3 * step_s / count},
              {"gflops", flops * count / all_s / 1e9},
              {"share_of_roof", flops * count / all_s / roof.flops}};
}

Result<Json> bench_rollout_one(ThreadTeam& team, const std::string& name, CpuDecoder& decoder, std::int64_t batch,
                               const BenchArguments& arguments, const MachineRoof& roof) {
  const ModelDescription& model = decoder.description();
  Random random(1);
  Rollout rollout(decoder);
  std::vector<GenerationRequest> requests(static_cast<std::size_t>(batch));
  for (GenerationRequest& request : requests) {
    for (std::int64_t n = 0; n < arguments.prompt; ++n)
      request.prompt.push_back(static_cast<std::int32_t>(random.integer(0, model.vocabulary - 1)));
    request.max_tokens = std::min<std::int64_t>(arguments.tokens, 8);
    request.rule.seed = random.next();
  }
  KW_TRY([[maybe_unused]] const auto warm, rollout.generate(requests));
  const std::int64_t warm_tokens = rollout.statistics().sampled_tokens;
  for (GenerationRequest& request : requests) {
    request.max_tokens = arguments.tokens;
    KW_TRY([[maybe_unused]] const RequestId id, rollout.submit(std::move(request)));
  }
  const auto start = Clock::now();
  while (rollout.statistics().sampled_tokens < warm_tokens + batch) {
    KW_TRY([[maybe_unused]] const bool worked, rollout.advance());
  }
  const double prompt_s = seconds_since(start);
  const std::int64_t before = rollout.statistics().sampled_tokens;
  const auto decoding = Clock::now();
  std::int64_t steps = 0;
  double best_s = 1e9;
  for (; !rollout.idle(); ++steps) {
    if (interrupted()) return Error{"interrupted", "", {}};
    const auto begin = Clock::now();
    const std::int64_t had = rollout.statistics().sampled_tokens;
    KW_TRY([[maybe_unused]] const bool worked, rollout.advance());
    // The last steps have fewer sequences.
    const auto step_tokens = static_cast<double>(std::max<std::int64_t>(1, rollout.statistics().sampled_tokens - had));
    best_s = std::min(best_s, seconds_since(begin) * static_cast<double>(batch) / step_tokens);
  }
  const double decode_s = seconds_since(decoding);
  const auto made = static_cast<double>(rollout.statistics().sampled_tokens - before);
  const auto size = static_cast<double>(batch);
  const double context = static_cast<double>(arguments.prompt) + static_cast<double>(arguments.tokens) / 2;
  const double kv_bytes =
      context * static_cast<double>(decoder.page_bytes()) / static_cast<double>(decoder.page_tokens());
  const double bytes = static_cast<double>(decoder.weight_bytes()) + size * kv_bytes;
  // What stays in the cache from step to step is not read from memory.
  const double memory_s = bytes > roof.cache_bytes ? bytes / roof.bytes_per_s : 0;
  const double compute_s = size * token_flops(model, context) / roof.flops;
  return Json{{"model", name},
              {"parameters", parameter_count(model)},
              {"batch", batch},
              {"threads", team.size()},
              {"prompt_tokens_per_s", static_cast<double>(batch * arguments.prompt) / prompt_s},
              {"tokens_per_s", made / decode_s},
              {"step_ms", 1e3 * decode_s / static_cast<double>(steps)},
              {"best_step_ms", 1e3 * best_s},
              {"memory_ms", 1e3 * memory_s},
              {"compute_ms", 1e3 * compute_s},
              {"all_tokens_per_s", (made + size) / (decode_s + prompt_s)},
              {"share_of_roof", std::max(memory_s, compute_s) / (decode_s / static_cast<double>(steps))}};
}

Result<Json> bench_train(const BenchArguments& arguments, ThreadTeam& team, const MachineRoof& roof) {
  Json rows = Json::array();
  for (const std::string& name : arguments.models) {
    KW_TRY(Json row, bench_train_one(team, name, arguments, roof));
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<Json> bench_rollout(const BenchArguments& arguments, ThreadTeam& team, const MachineRoof& roof) {
  Json rows = Json::array();
  const auto names = preset_names();
  for (const std::string& name : arguments.models) {
    // A model of a file stays as it lies there, quantised blocks included.
    const bool preset = std::ranges::find(names, name) != names.end() && !model_path(name).ok();
    const auto path = model_path(name);
    std::unique_ptr<CpuDecoder> decoder;
    if (!preset && path.ok() && std::filesystem::exists(*path)) {
      KW_TRY(const ModelFiles files, open_model(name));
      KW_TRY(decoder, make_cpu_decoder(team, files));
    } else {
      KW_TRY(const Parameters parameters, bench_parameters(team, name, arguments.vocabulary));
      KW_TRY(decoder, make_cpu_decoder(team, parameters));
    }
    for (const std::int64_t batch : arguments.batches) {
      KW_TRY(Json row, bench_rollout_one(team, name, *decoder, batch, arguments, roof));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string number(const Json& row, const char* key, const char* format) {
  return fmt::format(fmt::runtime(format), row[key].get<double>());
}

void run_bench(Context& context, const BenchArguments& arguments, bool train) {
  ThreadTeam team(arguments.threads);
  const MachineRoof roof = measure_cpu(team);
  const auto rows = train ? bench_train(arguments, team, roof) : bench_rollout(arguments, team, roof);
  if (!rows.ok()) {
    fail(context, rows.error());
    if (interrupted()) context.exit_code = exit_interrupted;
    return;
  }
  if (context.json) return print_json({{"machine", roof_json(roof, team.size())}, {"rows", *rows}});
  std::cout << roof_text(roof, team.size());
  const auto r = Align::right;
  if (train) {
    std::cout << fmt::format("training{}, {} x {} tokens{}\n",
                             arguments.lora_rank > 0 ? fmt::format(", LoRA of rank {}", arguments.lora_rank) : "",
                             arguments.sequences, arguments.length, arguments.ragged ? ", ragged" : "");
    Table table(
        {"model", "parameters", "tokens/s", "best", "forward ms", "backward ms", "step ms", "GFLOP/s", "of roof"},
        {Align::left, r, r, r, r, r, r, r, r});
    for (const Json& row : *rows) {
      table.add({row["model"].get<std::string>(), grouped(row["parameters"].get<std::int64_t>()),
                 number(row, "tokens_per_s", "{:.0f}"), number(row, "best_tokens_per_s", "{:.0f}"),
                 number(row, "forward_ms", "{:.1f}"), number(row, "backward_ms", "{:.1f}"),
                 number(row, "step_ms", "{:.1f}"), number(row, "gflops", "{:.1f}"),
                 fmt::format("{:.0f} %", 100 * row["share_of_roof"].get<double>())});
    }
    std::cout << table.text();
    return;
  }
  std::cout << fmt::format("generation: prompts of {} tokens, answers of {}\n", arguments.prompt, arguments.tokens);
  Table table(
      {"model", "batch", "prompt tokens/s", "tokens/s", "step ms", "best", "memory ms", "compute ms", "of roof"},
      {Align::left, r, r, r, r, r, r, r, r});
  for (const Json& row : *rows) {
    table.add({row["model"].get<std::string>(), std::to_string(row["batch"].get<std::int64_t>()),
               number(row, "prompt_tokens_per_s", "{:.0f}"), number(row, "tokens_per_s", "{:.1f}"),
               number(row, "step_ms", "{:.2f}"), number(row, "best_step_ms", "{:.2f}"),
               number(row, "memory_ms", "{:.2f}"), number(row, "compute_ms", "{:.2f}"),
               fmt::format("{:.0f} %", 100 * row["share_of_roof"].get<double>())});
  }
  std::cout << table.text();
}

}  // namespace

void add_bench_command(CLI::App& app, Context& context) {
  auto* bench = app.add_subcommand("bench", "Speed of training and generation on this machine, as a share of its peak");
  bench->require_subcommand(1);
  bench->footer(
      "Examples:\n  kernelwright bench train tiny-1m tiny-3m --sequences 8 --length 256\n"
      "  kernelwright bench rollout smollm2-135m --batch 1,16");
  add_bench_episodes_command(*bench, context);
  add_bench_step_command(*bench, context);
  for (const bool train : {true, false}) {
    auto* command = train ? bench->add_subcommand("train", "Gradient steps on random tokens")
                          : bench->add_subcommand("rollout", "Answers to random prompts");
    add_json_flag(*command, context);
    auto arguments = std::make_shared<BenchArguments>();
    command->add_option("MODEL", arguments->models, "presets of `model init`, or models")->capture_default_str();
    command->add_option("--vocabulary", arguments->vocabulary, "of the tiny presets")->capture_default_str();
    command->add_option("--threads", arguments->threads, "threads of the model; 0: one per core")
        ->capture_default_str();
    if (train) {
      command->add_option("--sequences", arguments->sequences, "sequences per step")
          ->capture_default_str()
          ->check(CLI::PositiveNumber);
      command->add_option("--length", arguments->length, "tokens of each sequence")
          ->capture_default_str()
          ->check(CLI::Range(2, 1 << 20));
      command->add_option("--lora", arguments->lora_rank, "train an adapter of this rank instead of everything")
          ->check(CLI::Range(1, 4096));
      command->add_flag("--ragged", arguments->ragged,
                        "lengths from 0.4 to 1.7 of --length, loss on the second half of each");
      command->add_flag("--recompute", arguments->recompute, "recompute activations in the backward pass");
      command->add_option("--seconds", arguments->seconds, "measure each model at least this long")
          ->capture_default_str();
    } else {
      command->add_option("--batch", arguments->batches, "sequences at a time")
          ->delimiter(',')
          ->capture_default_str()
          ->check(CLI::PositiveNumber);
      command->add_option("--prompt", arguments->prompt, "tokens of each prompt")
          ->capture_default_str()
          ->check(CLI::PositiveNumber);
      command->add_option("--tokens", arguments->tokens, "tokens of each answer")
          ->capture_default_str()
          ->check(CLI::Range(2, 1 << 20));
    }
    command->callback([&context, arguments, train] { run_bench(context, *arguments, train); });
  }
}

}  // namespace kw::cli
