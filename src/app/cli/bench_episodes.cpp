#include <fmt/format.h>

#include <chrono>
#include <iostream>

#include "agents/episode/agent_model.h"
#include "agents/episode/episode_engine.h"
#include "app/cli/bench_command.h"
#include "app/cli/model_load.h"
#include "app/cli/process_time.h"
#include "app/evaluate/exam.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"
#include "base/progress.h"
#include "base/table.h"
#include "kernel/judge/judge_session.h"

namespace kw::cli {
namespace {

struct EpisodesArguments {
  std::string model = "tiny";
  std::string device = "auto";
  std::string backend = "auto";
  std::size_t episodes = 64;
  std::size_t tasks = 16;
  std::size_t in_flight = 64;
  int turns = 3;
  std::int64_t samples = 1;
  std::int64_t answer_tokens = 512;
  float temperature = 0.8f;
  std::uint64_t seed = 1;
  int threads = 0;
  int judge_workers = 0;
  bool given = false;
};

std::vector<EpisodeRequest> requests_of(const EpisodesArguments& arguments) {
  std::vector<std::shared_ptr<const Task>> tasks;
  for (ExamQuestion& question : drawn_questions(DataSplit::composition, arguments.seed, arguments.tasks))
    tasks.push_back(std::make_shared<const Task>(std::move(question.task)));
  std::vector<EpisodeRequest> requests;
  for (std::size_t i = 0; i < arguments.episodes; ++i) {
    const auto& task = tasks[i % tasks.size()];
    requests.push_back({i, task, "", arguments.given ? task->naive : ""});
  }
  return requests;
}

Result<Json> bench_episodes(const EpisodesArguments& arguments) {
  KW_TRY(const auto model,
         AgentModel::open(arguments.model, {.device = arguments.device, .threads = arguments.threads}));
  // A verdict that was cached costs nothing, and would tell nothing.
  KW_TRY(const auto session, JudgeSession::start({arguments.backend, "", arguments.judge_workers, false}));
  EngineOptions options;
  KW_TRY(options.episode, episode_options());
  options.episode.turns = arguments.turns;
  options.episode.samples = arguments.samples;
  options.episode.answer_tokens = arguments.answer_tokens;
  options.episode.temperature = arguments.temperature;
  options.episode.seed = arguments.seed;
  options.in_flight = arguments.in_flight;
  options.judge_workers = session->workers();
  KW_TRY(const auto answers, model->make_answers());
  Progress progress("turns", arguments.episodes * static_cast<std::size_t>(arguments.turns));
  EpisodeHooks hooks;
  hooks.on_turn = [&](const Episode&) { progress.advance(); };
  KW_TRY(const auto engine, EpisodeEngine::make(
                                *answers, model->dialect(), session->judge(),
                                [&](AgentRole role) { return model->adapter_of(role); }, options, std::move(hooks)));
  const double cpu_before = process_tree_cpu_s();
  const auto start = std::chrono::steady_clock::now();
  KW_TRY(const std::vector<Episode> episodes, engine->run(requests_of(arguments)));
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double cpu_s = process_tree_cpu_s() - cpu_before;
  if (interrupted()) return Error{"interrupted", "", {}};
  const EngineStatistics counts = engine->statistics();
  const double cores = core_count();
  std::int64_t right = 0;
  for (const Episode& episode : episodes) right += episode.best ? 1 : 0;
  return Json{{"model", model->name()},
              {"device", model->device()},
              {"judge", session->description()},
              {"cores", cores},
              {"judge_workers", session->workers()},
              {"in_flight", arguments.in_flight},
              {"episodes", counts.episodes},
              {"turns", counts.turns},
              {"with_a_right_kernel", right},
              {"seconds", wall_s},
              {"utilisation", cpu_s / (wall_s * cores)},
              {"generating_share", counts.seconds.generating / wall_s},
              {"judging_share", counts.seconds.judging / wall_s},
              {"overlap_share", counts.seconds.both / wall_s},
              {"episodes_per_s", static_cast<double>(counts.episodes) / wall_s},
              {"tokens_per_s", static_cast<double>(counts.sampled_tokens) / wall_s},
              {"kernels", counts.kernels},
              {"kernels_judged", counts.judged},
              {"kernels_per_s", static_cast<double>(counts.kernels) / wall_s}};
}

void print_table(const Json& json) {
  std::cout << fmt::format("{} on {}, {}; {} cores, {} kernels judged at a time\n", json["model"].get<std::string>(),
                           json["device"].get<std::string>(), json["judge"].get<std::string>(),
                           json["cores"].get<double>(), json["judge_workers"].get<int>());
  const auto number = [&](const char* key, const char* format, double scale = 1) {
    return fmt::format(fmt::runtime(format), scale * json[key].get<double>());
  };
  Table table({"", ""}, {Align::left, Align::right});
  table.add({"episodes (turns)", fmt::format("{} ({})", json["episodes"].get<int>(), json["turns"].get<int>())});
  table.add({"with a right kernel", number("with_a_right_kernel", "{:.0f}")});
  table.add({"seconds", number("seconds", "{:.1f}")});
  table.add({"cores busy", number("utilisation", "{:.0f} %", 100)});
  table.add({"generating", number("generating_share", "{:.0f} % of the time", 100)});
  table.add({"judging", number("judging_share", "{:.0f} % of the time", 100)});
  table.add({"both at once", number("overlap_share", "{:.0f} % of the time", 100)});
  table.add({"episodes/s", number("episodes_per_s", "{:.2f}")});
  table.add({"tokens/s", number("tokens_per_s", "{:.0f}")});
  table.add({"kernels/s", number("kernels_per_s", "{:.2f}")});
  table.add({"kernels (really judged)",
             fmt::format("{} ({})", json["kernels"].get<int>(), json["kernels_judged"].get<int>())});
  std::cout << table.text();
}

}  // namespace

void add_bench_episodes_command(CLI::App& bench, Context& context) {
  auto* command =
      bench.add_subcommand("episodes", "Runs many conversations at once; shows how busy generation and the judge are");
  auto arguments = std::make_shared<EpisodesArguments>();
  add_json_flag(*command, context);
  command->add_option("--model", arguments->model, "as for `optimize`")->capture_default_str();
  add_device_option(*command, arguments->device);
  command->add_option("--backend", arguments->backend, "where kernels are judged")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "emulator", "gpu"}));
  command->add_option("--episodes", arguments->episodes, "number of conversations")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--tasks", arguments->tasks, "number of held-out tasks that they are about")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  command->add_option("--in-flight", arguments->in_flight, "conversations at the same time")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  command->add_option("--turns", arguments->turns, "maximum turns of a conversation")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  command->add_option("--samples", arguments->samples, "answers sampled in each turn")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--max-tokens", arguments->answer_tokens, "maximum length of an answer")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--temperature", arguments->temperature, "0: always the likeliest token")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--seed", arguments->seed, "the same seed gives the same result")->capture_default_str();
  command->add_option("--threads", arguments->threads, "threads of the model; 0: one per core")->capture_default_str();
  command->add_option("--judge-workers", arguments->judge_workers, "kernels judged at the same time; 0: one per core")
      ->capture_default_str();
  command->add_flag("--given", arguments->given,
                    "start from the tasks' naive kernels, so that an untrained model gives the judge work too");
  command->footer("Example:\n  kernelwright bench episodes --model tiny --in-flight 64");
  command->callback([&context, arguments] {
    const auto measured = bench_episodes(*arguments);
    show_measured(context, measured, print_table);
  });
}

}  // namespace kw::cli
