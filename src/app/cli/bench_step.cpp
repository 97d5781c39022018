// `bench step`: what a step of reinforcement learning spends its time on, and how far each part is from its limit.

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <set>

#include "agents/episode/agent_files.h"
#include "app/cli/bench_command.h"
#include "app/cli/model_load.h"
#include "app/cli/model_source.h"
#include "app/cli/process_time.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"
#include "base/progress.h"
#include "base/table.h"
#include "kernel/judge/judge_session.h"
#include "learn/rl/reinforce.h"
#include "learn/rl/starting_models.h"
#include "learn/rl/step_bound.h"
#include "model/rollout/cpu_decoder.h"

namespace kw::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct StepArguments {
  std::string model = "tiny";
  std::string device = "auto";
  std::string backend = "auto";
  std::string algorithm = "grpo";
  std::int64_t tasks = 8, group = 8;
  int turns = 2;
  std::int64_t answer_tokens = 512;
  int steps = 1, warm_up = 1;
  double kl = 0;
  std::uint64_t seed = 1;
  int threads = 0, judge_workers = 0;
  std::size_t in_flight = 256;
};

const Error stopped{"interrupted", "", {}};

Result<StartingModels> models_for(const StepArguments& arguments, Algorithm algorithm) {
  KW_TRY(const AgentFiles opened, open_agents(arguments.model));
  const AgentSet& agents = opened.set;
  LearnerOptions options;
  options.device = arguments.device;
  options.threads = arguments.threads;
  options.train_base = agents.adapters.empty();
  if (!options.train_base) options.adapters = {AgentRole::generator, AgentRole::optimizer};
  options.adapter_folders = agents.adapters;
  options.seed = arguments.seed;
  return open_starting_models(opened.base, options,
                              {.reference = arguments.kl > 0, .critic = algorithm == Algorithm::ppo});
}

Result<ReinforceOptions> options_for(const StepArguments& arguments, Algorithm algorithm, int workers) {
  ReinforceOptions options = reinforce_options(algorithm);
  options.steps = arguments.steps;
  options.tasks = arguments.tasks;
  options.group = arguments.group;
  options.refills = 0;  // how many there are is chance
  KW_TRY(options.episode, episode_options());
  options.episode.turns = arguments.turns;
  options.episode.answer_tokens = arguments.answer_tokens;
  options.episode.temperature = options.update.temperature = 1;
  options.episode.seed = options.seed = arguments.seed;
  options.update.pass_tokens = 8192;  // as `train rl` has it
  options.kl.coefficient = arguments.kl;
  options.in_flight = arguments.in_flight;
  options.judge_workers = workers;
  KW_TRY_VOID(check_options(options));
  return options;
}

// What a step of the decoder reads. On the GPU weights, keys and values are bf16.
Result<DecoderBytes> decoder_bytes(Learner& learner) {
  const ModelDescription& model = learner.description();
  const auto of_position = static_cast<double>(2 * model.layers * model.kv_heads * model.head_dim);
  KW_TRY(Decoder* const decoder, learner.decoder());
  if (const auto* on_cpu = dynamic_cast<const CpuDecoder*>(decoder))
    return DecoderBytes{static_cast<double>(on_cpu->weight_bytes()), 4 * of_position};
  return DecoderBytes{2.0 * static_cast<double>(parameter_count(model)), 2 * of_position};
}

// The kernels of the steps once more, by a judge that knows none of them and has the machine to itself.
Result<double> judge_alone(const StepArguments& arguments, const std::vector<Episode>& episodes) {
  KW_TRY(const auto session, JudgeSession::start({arguments.backend, "", arguments.judge_workers, false}));
  std::set<std::pair<const Task*, std::string>> kernels;
  std::vector<std::shared_ptr<const Task>> tasks;  // in the order of `pairs`
  std::vector<const std::string*> texts;
  for (const Episode& episode : episodes)
    for (const Turn& turn : episode.turns)
      for (const TurnSample& sample : turn.samples) {
        if (!sample.verdict || !kernels.emplace(episode.request.task.get(), sample.kernel).second) continue;
        tasks.push_back(episode.request.task);
        texts.push_back(&sample.kernel);
      }
  if (texts.empty()) return 0.0;
  const auto judge_all = [&](std::size_t first, std::size_t end, const char* what) -> Result<double> {
    JudgePool pool(session->judge(), {session->workers()});
    VerdictBox judged_kernels;
    Progress progress(what, end - first);
    const auto start = Clock::now();
    for (std::size_t i = first; i < end; ++i) pool.submit(tasks[i], *texts[i], judged_kernels.slot(i));
    for (std::size_t left = end - first; left > 0;) {
      if (interrupted()) return stopped;
      judged_kernels.wait(std::chrono::milliseconds(50));
      const auto judged = judged_kernels.take();
      progress.advance(judged.size());
      left -= judged.size();
    }
    return seconds_since(start);
  };
  // The first one starts the workers; it is judged again with the others.
  KW_TRY([[maybe_unused]] const double warm, judge_all(0, 1, "judge, warming up"));
  KW_TRY(const double seconds, judge_all(0, texts.size(), "judge alone"));
  return static_cast<double>(texts.size()) / seconds;
}

Json to_json(const StepPart& part, double step_s) {
  return {{"part", part.name},
          {"seconds", part.seconds},
          {"alone_s", part.alone_s},
          {"alone_share", part.alone_s / step_s},
          {"rate", part.rate},
          {"limit", part.limit},
          {"unit", part.unit},
          {"limited_by", part.limited_by},
          {"share_of_limit", part.share_of_limit()}};
}

Result<Json> bench_step(const StepArguments& arguments) {
  KW_TRY(const Algorithm algorithm, algorithm_from(arguments.algorithm));
  KW_TRY(const StartingModels models, models_for(arguments, algorithm));
  Learner& policy = *models.policy;
  // A verdict that was cached costs nothing, and would tell nothing.
  KW_TRY(const auto session, JudgeSession::start({arguments.backend, "", arguments.judge_workers, false}));
  KW_TRY(const ReinforceOptions options, options_for(arguments, algorithm, session->workers()));
  StreamOptions stream;
  stream.seed = arguments.seed;
  KW_TRY(const TaskPool pool, draw_task_pool(stream, static_cast<std::size_t>(4 * arguments.tasks)));
  KW_TRY(Curriculum curriculum, make_curriculum(pool, "none", arguments.seed));
  KW_TRY(const MachineRoof roof, policy.measure_roof());
  KW_TRY(const DecoderBytes bytes, decoder_bytes(policy));

  StepWork work;
  std::vector<Episode> episodes;
  std::uint64_t next_episode = 0;
  std::int64_t tokens = 0, trained = 0;
  double cpu_s = 0;
  for (int step = -arguments.warm_up; step < arguments.steps; ++step) {
    Progress progress(step < 0 ? "turns, warming up" : "turns",
                      static_cast<std::size_t>(arguments.tasks * arguments.group * arguments.turns));
    StepSource source{.learner = policy,
                      .judge = session->judge(),
                      .pool = pool,
                      .curriculum = curriculum,
                      .next_episode = next_episode,
                      .model = "bench",
                      .store = {},
                      .pay = {},
                      .episode = {}};
    const double cpu_before = process_tree_cpu_s();
    source.episode.on_turn = [&](const Episode&) { progress.advance(); };
    KW_TRY(StepConversations held, hold_step_conversations(source, options));
    if (held.interrupted || interrupted()) return stopped;
    const auto start = Clock::now();
    KW_TRY(const UpdateReport update,
           update_policy({.policy = policy.trainer(),
                          .reference = models.reference ? &models.reference->trainer() : nullptr,
                          .critic = models.critic ? &models.critic->trainer() : nullptr,
                          .adapter_of = [&](AgentRole role) { return policy.adapter_of(role); },
                          .model = &policy.description(),
                          .train_base = policy.trains_base(),
                          .learning_rate = 1e-6,
                          .critic_learning_rate = 1e-6,
                          .kl_coefficient = arguments.kl,
                          .seed = arguments.seed},
                         held.answers, options.update));
    const double update_s = seconds_since(start);
    if (step < 0) continue;
    cpu_s += process_tree_cpu_s() - cpu_before;
    const RolloutWork rollout = rollout_work(policy.description(), held.answers, held.decoder_steps, bytes);
    add_step(work, held, rollout, update, update_s);
    tokens += held.sampled_tokens;
    trained += update.trained_tokens;
    for (Episode& episode : held.episodes) episodes.push_back(std::move(episode));
  }
  KW_TRY(work.judge_kernels_per_s, judge_alone(arguments, episodes));
  const StepBound bound = bound_of(work, roof);
  const double cores = core_count();
  Json parts = Json::array();
  for (const StepPart& part : bound.parts) parts.push_back(to_json(part, bound.step_s));
  return Json{{"model", arguments.model},
              {"device", policy.device()},
              {"judge", session->description()},
              {"judge_workers", session->workers()},
              {"algorithm", arguments.algorithm},
              {"steps", arguments.steps},
              {"conversations", arguments.tasks * arguments.group},
              {"turns", arguments.turns},
              {"sampled_tokens", tokens},
              {"trained_tokens", trained},
              {"kernels_judged", work.judged},
              {"cores", cores},
              {"cores_busy", cpu_s / (bound.step_s * cores)},
              {"machine", {{"flops", roof.flops}, {"bytes_per_s", roof.bytes_per_s}}},
              {"timing_s",
               {{"step", bound.step_s},
                {"rollout", work.conversations_s},
                {"generate", work.generating_s},
                {"judge", work.judging_s},
                {"judge_alone", work.judging_s - work.both_s},
                {"both", bound.both_s},
                {"other", bound.other_s},
                {"update", work.update_s}}},
              {"parts", std::move(parts)},
              {"bound", bound.bound},
              {"bound_share", bound.bound_share}};
}

std::string rate_text(double rate, const std::string& unit) {
  if (unit == "kernels/s") return fmt::format("{:.2f} {}", rate, unit);
  return rate < 1e12 ? fmt::format("{:.1f} G{}", rate / 1e9, unit) : fmt::format("{:.2f} T{}", rate / 1e12, unit);
}

void print_table(const Json& json) {
  const auto text = [](const Json& from) { return from.get<std::string>(); };
  const double step_s = json["timing_s"]["step"].get<double>();
  std::cout << fmt::format("{}, {} on {}; kernels {}, {} at a time\n", text(json["model"]), text(json["algorithm"]),
                           text(json["device"]), text(json["judge"]), json["judge_workers"].get<int>());
  std::cout << fmt::format(
      "{} step{} of {} conversations: {:.1f} s, {} tokens sampled, {} trained, {} kernels judged\n",
      json["steps"].get<int>(), json["steps"].get<int>() == 1 ? "" : "s", json["conversations"].get<int>(), step_s,
      grouped(json["sampled_tokens"].get<std::int64_t>()), grouped(json["trained_tokens"].get<std::int64_t>()),
      json["kernels_judged"].get<int>());
  const auto r = Align::right;
  Table table({"part", "s", "alone s", "of the step", "rate", "limit", "of its limit", "what limits"},
              {Align::left, r, r, r, r, r, r, Align::left});
  for (const Json& part : json["parts"])
    table.add({text(part["part"]), fmt::format("{:.2f}", part["seconds"].get<double>()),
               fmt::format("{:.2f}", part["alone_s"].get<double>()),
               fmt::format("{:.0f} %", 100 * part["alone_share"].get<double>()),
               rate_text(part["rate"].get<double>(), text(part["unit"])),
               rate_text(part["limit"].get<double>(), text(part["unit"])),
               fmt::format("{:.0f} %", 100 * part["share_of_limit"].get<double>()), text(part["limited_by"])});
  const auto row = [&](const char* name, const char* key) {
    const double seconds = json["timing_s"][key].get<double>();
    table.add(
        {name, fmt::format("{:.2f}", seconds), "", fmt::format("{:.0f} %", 100 * seconds / step_s), "", "", "", ""});
  };
  row("rollout and judge at once", "both");
  row("neither", "other");
  std::cout << table.text();
  // Where others work too, a part is further from its limit than it would be alone.
  std::cout << fmt::format("bound by {}: {:.0f} % of the step; it had {:.0f} % of {:.0f} cores\n", text(json["bound"]),
                           100 * json["bound_share"].get<double>(), 100 * json["cores_busy"].get<double>(),
                           json["cores"].get<double>());
}

}  // namespace

void show_measured(Context& context, const Result<Json>& measured, void (*print_table)(const Json&)) {
  if (!measured.ok()) {
    fail(context, measured.error());
    if (interrupted()) context.exit_code = exit_interrupted;
    return;
  }
  if (context.json) return print_json(*measured);
  print_table(*measured);
}

void add_bench_step_command(CLI::App& bench, Context& context) {
  auto* command = bench.add_subcommand(
      "step", "Times a step of reinforcement learning: rollout, judging, update; shows what limits it");
  auto arguments = std::make_shared<StepArguments>();
  add_json_flag(*command, context);
  command->add_option("--model", arguments->model, "as for `train rl`")->capture_default_str();
  add_device_option(*command, arguments->device);
  command->add_option("--backend", arguments->backend, "where kernels are judged")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "emulator", "gpu"}));
  command->add_option("--algorithm", arguments->algorithm, "as for `train rl`")
      ->capture_default_str()
      ->check(CLI::IsMember({"grpo", "dr_grpo", "rloo", "dapo", "ppo"}));
  command->add_option("--tasks", arguments->tasks, "tasks per step")->capture_default_str()->check(CLI::Range(1, 4096));
  command->add_option("--group", arguments->group, "conversations per task")
      ->capture_default_str()
      ->check(CLI::Range(2, 256));
  command->add_option("--turns", arguments->turns, "maximum turns of a conversation")
      ->capture_default_str()
      ->check(CLI::Range(1, 5));
  command->add_option("--answer-tokens", arguments->answer_tokens, "maximum length of an answer")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--steps", arguments->steps, "steps to measure")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_option("--warm-up", arguments->warm_up, "steps before the measured ones")
      ->capture_default_str()
      ->check(CLI::Range(0, 100));
  command->add_option("--kl", arguments->kl, "KL coefficient; 0: the reference model is not scored")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--in-flight", arguments->in_flight, "conversations at the same time")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  command->add_option("--seed", arguments->seed, "the same seed gives the same result")->capture_default_str();
  command->add_option("--threads", arguments->threads, "threads of the model; 0: one per core")->capture_default_str();
  command->add_option("--judge-workers", arguments->judge_workers, "kernels judged at the same time; 0: one per core")
      ->capture_default_str();
  command->footer("Example:\n  kernelwright bench step --model tiny --tasks 8 --group 8");
  command->callback([&context, arguments] {
    install_interrupt_handling();
    const auto measured = bench_step(*arguments);
    show_measured(context, measured, print_table);
  });
}

}  // namespace kw::cli
