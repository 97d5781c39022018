#include "learn/rl/step_conversations.h"

#include <chrono>
#include <set>

#include "agents/episode/judge_failures.h"

namespace kw {
namespace {

constexpr int most_draws = 20;  // for a task that the step does not have yet

class Step {
 public:
  Step(const StepSource& source, const ReinforceOptions& options) : source_(source), options_(options) {}

  Result<StepConversations> run() {
    const auto start = std::chrono::steady_clock::now();
    if (!source_.store.empty()) {
      KW_TRY(store_, EpisodeStore::open(source_.store));
    }
    KW_TRY(Decoder* const decoder, source_.learner.decoder());
    Rollout rollout(*decoder, &source_.learner.dialect().tokenizer());
    std::int64_t missing = options_.tasks;
    for (int round = 0;; ++round) {
      KW_TRY_VOID(converse(rollout, missing));
      if (made_.interrupted) break;
      KW_TRY_VOID(weigh());
      if (options_.algorithm != Algorithm::dapo || round >= options_.refills) break;
      missing = options_.tasks - static_cast<std::int64_t>(tasks_that_teach(made_.answers, made_.task_of).size());
      if (missing <= 0) break;
      ++made_.refills;
    }
    made_.decoder_steps = rollout.statistics().steps;
    made_.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(made_);
  }

 private:
  std::string draw() {
    std::string name = source_.curriculum.draw();
    for (int i = 0; i < most_draws && drawn_.contains(name); ++i) name = source_.curriculum.draw();
    drawn_.insert(name);
    return name;
  }

  Result<void> converse(Rollout& rollout, std::int64_t tasks) {
    std::vector<EpisodeRequest> requests;
    for (std::int64_t i = 0; i < tasks; ++i) {
      const auto task = source_.pool.tasks.at(draw());
      for (std::int64_t each = 0; each < options_.group; ++each) {
        EpisodeRequest request;
        request.number = source_.next_episode++;
        request.task = task;
        requests.push_back(std::move(request));
        made_.task_of.push_back(next_task_);
      }
      ++next_task_;
    }
    EngineOptions engine_options;
    engine_options.episode = options_.episode;
    engine_options.in_flight = options_.in_flight;
    engine_options.judge_workers = options_.judge_workers;
    engine_options.store = store_.get();
    engine_options.model = source_.model;
    Learner& learner = source_.learner;
    KW_TRY(const auto engine,
           EpisodeEngine::make(
               rollout, learner.dialect(), source_.judge, [&](AgentRole role) { return learner.adapter_of(role); },
               engine_options, source_.episode));
    KW_TRY(std::vector<Episode> episodes, engine->run(std::move(requests)));
    const EngineStatistics statistics = engine->statistics();
    made_.seconds.generating += statistics.seconds.generating;
    made_.seconds.judging += statistics.seconds.judging;
    made_.seconds.both += statistics.seconds.both;
    made_.seconds.judge_work += statistics.seconds.judge_work;
    made_.sampled_tokens += statistics.sampled_tokens;
    made_.kernels += statistics.kernels;
    made_.judged += statistics.judged;
    for (Episode& episode : episodes) {
      made_.interrupted = made_.interrupted || episode.end == EpisodeEnd::unfinished;
      if (source_.pay)
        for (Turn& turn : episode.turns)
          for (TurnSample& sample : turn.samples) source_.pay(episode, turn, sample);
      if (!made_.interrupted) KW_TRY_VOID(record(episode));
      made_.episodes.push_back(std::move(episode));
    }
    return check_judge();
  }

  Result<void> check_judge() {
    const auto checked = judge_failures(made_.episodes).check();
    if (made_.interrupted || checked.ok()) return {};
    // Or else the failures would be read again after a restart.
    store_.reset();
    if (!source_.store.empty()) remove_store(source_.store);
    return checked;
  }

  // A conversation counts by what came out of it.
  Result<void> record(const Episode& episode) {
    TaskOutcome outcome;
    bool judged = false;
    for (const Turn& turn : episode.turns)
      for (const TurnSample& sample : turn.samples) {
        judged = judged || sample.rewarded;
        outcome.compiled = outcome.compiled || (sample.verdict && sample.verdict->compiled);
      }
    if (!judged) return {};
    if (episode.best) {
      outcome.correct = true;
      outcome.speedup = rank_of(verdict_of(episode, *episode.best)).speedup;
    }
    return source_.curriculum.record(episode.request.task->name, outcome);
  }

  Result<void> weigh() {
    KW_TRY(made_.answers, answers_of(made_.episodes, made_.task_of, options_.credit, options_.episode.answer_tokens,
                                     source_.learner.trainer().weights_version()));
    KW_TRY_VOID(restore_constraints(made_.answers, source_.learner.dialect()));
    made_.groups = set_advantages(made_.answers, options_.algorithm, options_.credit.rule);
    return {};
  }

  const StepSource& source_;
  const ReinforceOptions& options_;
  std::unique_ptr<EpisodeStore> store_;
  std::set<std::string> drawn_;
  std::int64_t next_task_ = 0;
  StepConversations made_;
};

}  // namespace

void remove_store(const std::filesystem::path& file) {
  for (const char* part : {"", "-wal", "-shm"}) {
    std::error_code ignored;
    std::filesystem::remove(file.string() + part, ignored);
  }
}

Result<StepConversations> hold_step_conversations(const StepSource& source, const ReinforceOptions& options) {
  return Step(source, options).run();
}

}  // namespace kw
