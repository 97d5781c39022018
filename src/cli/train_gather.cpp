// `train gather`: conversations of the agents about training tasks, into a store; what stage 1.5 learns from.

#include <fmt/format.h>

#include <iostream>
#include <thread>

#include "base/interrupt.h"
#include "base/progress.h"
#include "base/table.h"
#include "cli/command.h"
#include "cli/model_load.h"
#include "compile/service.h"
#include "data/stream.h"
#include "episode/agent_model.h"
#include "episode/episode_engine.h"
#include "supervised/conversation_lessons.h"

namespace kw::cli {
namespace {

struct GatherArguments {
  std::string store;
  std::string model = "tiny";
  std::uint64_t tasks = 100;
  std::uint64_t first = 0;
  std::uint64_t seed = 1;
  int turns = 2;
  std::int64_t samples = 4;
  float temperature = 1;
  std::int64_t answer_tokens = 1024;
  int judge_workers = 0;
  std::string device = "auto";
};

Result<Json> gather(const GatherArguments& arguments) {
  AgentModelOptions model_options;
  model_options.device = arguments.device;
  KW_TRY(const auto model, AgentModel::open(arguments.model, model_options));
  KW_TRY(const auto store, EpisodeStore::open(arguments.store));
  ServiceOptions service_options;
  service_options.pool.workers = arguments.judge_workers > 0
                                     ? arguments.judge_workers
                                     : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  CompileService service(service_options);
  JudgeOptions judge_options;
  KW_TRY(judge_options.profile, load_profile("h200"));
  Judge judge(service, judge_options);

  EngineOptions options;
  KW_TRY(options.episode, episode_options());
  options.episode.seed = arguments.seed;
  options.episode.turns = arguments.turns;
  options.episode.samples = arguments.samples;
  options.episode.temperature = arguments.temperature;
  options.episode.answer_tokens = arguments.answer_tokens;
  options.judge_workers = arguments.judge_workers;
  options.store = store.get();
  options.model = model->fingerprint();

  StreamOptions stream_options;
  stream_options.seed = arguments.seed;
  stream_options.naive_too = true;
  const ExampleStream stream(stream_options);
  std::vector<EpisodeRequest> requests;
  for (std::uint64_t i = 0; i < arguments.tasks; ++i) {
    EpisodeRequest request;
    request.number = arguments.first + i;
    request.task = std::make_shared<const Task>(stream.task_at(arguments.first + i).task);
    requests.push_back(std::move(request));
  }
  Progress progress("conversations", arguments.tasks);
  std::int64_t answers = 0, good = 0;
  EpisodeHooks hooks;
  hooks.on_turn = [&](const Episode& episode) {
    const Turn& turn = episode.turns.back();
    const Verdict* given = turn.given_turn >= 0 ? &verdict_of(episode, turn.given_turn) : nullptr;
    for (const TurnSample& sample : turn.samples) {
      ++answers;
      good += worked(turn, sample, given);
    }
    if (turn.index + 1 == arguments.turns) progress.advance(1, fmt::format("{} of {} answers worked", good, answers));
  };
  Rollout rollout(model->decoder(), &model->dialect().tokenizer());
  KW_TRY(const auto engine, EpisodeEngine::make(
                                rollout, model->dialect(), judge,
                                [&](AgentRole role) { return model->adapter_of(role); }, options, hooks));
  KW_TRY(const std::vector<Episode> episodes, engine->run(std::move(requests)));
  progress.finish();
  Json result = {
      {"store", arguments.store}, {"conversations", episodes.size()}, {"answers", answers}, {"worked", good}};
  result["interrupted"] = interrupted();
  return result;
}

}  // namespace

void add_train_gather_command(CLI::App& train, Context& context) {
  auto* command = train.add_subcommand(
      "gather", "Lets the agents talk about training tasks and keeps the conversations; goes on where it was stopped");
  auto arguments = std::make_shared<GatherArguments>();
  command->add_option("STORE", arguments->store, "SQLite file")->required();
  command->add_option("--model", arguments->model, "tiny, smollm2, or a folder of agents")->capture_default_str();
  command->add_option("--tasks", arguments->tasks, "how many")->capture_default_str();
  command->add_option("--first", arguments->first, "index of the first task in the stream");
  command->add_option("--seed", arguments->seed, "of tasks and samples")->capture_default_str();
  command->add_option("--turns", arguments->turns)->capture_default_str()->check(CLI::Range(1, 5));
  command->add_option("--samples", arguments->samples, "answers of each turn")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command->add_option("--temperature", arguments->temperature)->capture_default_str();
  command->add_option("--answer-tokens", arguments->answer_tokens, "longest answer")->capture_default_str();
  command->add_option("--judge-workers", arguments->judge_workers, "0: one for each core");
  add_device_option(*command, arguments->device);
  add_json_flag(*command, context);
  command->footer("Example:\n  kernelwright train gather runs/talk.db --model tiny --tasks 200");
  command->callback([&context, arguments] {
    install_interrupt_handling();
    const auto result = gather(*arguments);
    if (!result.ok()) return fail(context, result.error());
    if (context.json) {
      print_json(*result);
    } else {
      std::cout << fmt::format("{} conversations, {} of {} answers worked\n", result->at("conversations").dump(),
                               result->at("worked").dump(), result->at("answers").dump());
    }
    if (result->at("interrupted").get<bool>()) context.exit_code = exit_interrupted;
  });
}

}  // namespace kw::cli
