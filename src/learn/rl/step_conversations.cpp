#include "learn/rl/step_conversations.h"

#include <chrono>
#include <set>

#include "agents/episode/episode_bytes.h"
#include "agents/episode/judge_failures.h"
#include "base/bytes.h"
#include "model/distributed/communicator.h"

namespace kw {
namespace {

constexpr int most_draws = 20;                                   // for a task that the step does not have yet
constexpr std::uint64_t longest_share = std::uint64_t{1} << 32;  // bytes of the conversations that a rank held

class Step {
 public:
  Step(const StepSource& source, const ReinforceOptions& options) : source_(source), options_(options) {}

  Result<StepConversations> run() {
    const auto start = std::chrono::steady_clock::now();
    if (!source_.store.empty()) {
      const int rank = rank_number(options_.ranks);
      KW_TRY(store_, EpisodeStore::open(rank == 0 ? source_.store : part_store(source_.store, rank)));
    }
    KW_TRY(Decoder* const decoder,
           source_.weights != nullptr ? source_.learner.sampler()->by(*source_.weights) : source_.learner.decoder());
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
    KW_TRY(std::vector<Episode> episodes, hold(rollout, requests));
    for (Episode& episode : episodes) {
      if (!made_.interrupted) KW_TRY_VOID(record(episode));
      made_.episodes.push_back(std::move(episode));
    }
    return check_judge();
  }

  // This rank's share of the requests, and then everybody's conversations in the order of the requests.
  Result<std::vector<Episode>> hold(Rollout& rollout, const std::vector<EpisodeRequest>& requests) {
    const auto count = static_cast<std::int64_t>(requests.size());
    const ShareRange own = share_of(count, rank_number(options_.ranks), rank_count(options_.ranks));
    KW_TRY(std::vector<Episode> episodes,
           hold_here(rollout, {requests.begin() + own.begin, requests.begin() + own.end}));
    bool unfinished = false;
    for (Episode& episode : episodes) {
      unfinished = unfinished || episode.end == EpisodeEnd::unfinished || episode.end == EpisodeEnd::cancelled;
      if (source_.pay)
        for (Turn& turn : episode.turns)
          for (TurnSample& sample : turn.samples) source_.pay(episode, turn, sample);
    }
    KW_TRY(unfinished, any_rank(options_.ranks, unfinished));
    made_.interrupted = made_.interrupted || unfinished;
    if (made_.interrupted || rank_count(options_.ranks) == 1) return episodes;
    return share(std::move(episodes), requests);
  }

  Result<std::vector<Episode>> hold_here(Rollout& rollout, std::vector<EpisodeRequest> requests) {
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
    // The engine's first episode has ticket 0.
    const std::stop_callback on_stop(source_.stop, [&, count = requests.size()] {
      for (std::uint64_t ticket = 0; ticket < count; ++ticket) engine->cancel(ticket);
    });
    KW_TRY(std::vector<Episode> episodes, engine->run(std::move(requests)));
    const EngineStatistics statistics = engine->statistics();
    made_.seconds.generating += statistics.seconds.generating;
    made_.seconds.judging += statistics.seconds.judging;
    made_.seconds.both += statistics.seconds.both;
    made_.seconds.judge_work += statistics.seconds.judge_work;
    std::vector<double> counts{static_cast<double>(statistics.sampled_tokens), static_cast<double>(statistics.kernels),
                               static_cast<double>(statistics.judged)};
    if (options_.ranks != nullptr) KW_TRY_VOID(options_.ranks->all_reduce(counts));
    made_.sampled_tokens += static_cast<std::int64_t>(counts[0]);
    made_.kernels += static_cast<std::int64_t>(counts[1]);
    made_.judged += static_cast<std::int64_t>(counts[2]);
    return episodes;
  }

  Result<std::vector<Episode>> share(std::vector<Episode> own, const std::vector<EpisodeRequest>& requests) {
    Communicator& ranks = *options_.ranks;
    ByteWriter writer;
    for (const Episode& episode : own) writer.text(to_bytes(episode));
    KW_TRY(const auto all, ranks.all_gather(writer.bytes(), longest_share));
    std::vector<Episode> episodes;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      if (rank == ranks.rank()) {
        for (Episode& episode : own) episodes.push_back(std::move(episode));
        continue;
      }
      ByteReader reader(all[static_cast<std::size_t>(rank)]);
      const ShareRange theirs = share_of(static_cast<std::int64_t>(requests.size()), rank, ranks.size());
      for (std::int64_t i = theirs.begin; i < theirs.end; ++i) {
        auto episode = episode_from_bytes(reader.text(), requests[static_cast<std::size_t>(i)]);
        if (!episode.ok())
          return Error{"rank " + std::to_string(rank) +
                           " held another conversation than it was asked for: " + episode.error().message,
                       "start all ranks with the same arguments",
                       {}};
        if (ranks.is_first()) KW_TRY_VOID(keep(*episode));
        episodes.push_back(std::move(episode).value());
      }
    }
    return episodes;
  }

  // What another rank held, in the step's store.
  Result<void> keep(const Episode& episode) {
    if (!store_) return {};
    const std::string identity = episode_identity(episode.request, options_.episode, source_.model);
    KW_TRY(const auto known, store_->find(identity));
    if (known && known->end != EpisodeEnd::unfinished) return {};
    if (!known) KW_TRY_VOID(store_->begin(identity, episode.request, source_.model));
    for (std::size_t turn = known ? known->turns.size() : 0; turn < episode.turns.size(); ++turn)
      KW_TRY_VOID(store_->add_turn(identity, episode.turns[turn]));
    return store_->finish(identity, episode);
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

  // The trainer's may be in motion while another thread samples by a copy.
  std::int64_t weights_version() const {
    return source_.weights != nullptr ? source_.weights->version : source_.learner.trainer().weights_version();
  }

  Result<void> weigh() {
    KW_TRY(made_.answers, answers_of(made_.episodes, made_.task_of, options_.credit, options_.episode.answer_tokens,
                                     weights_version()));
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

std::filesystem::path part_store(const std::filesystem::path& store, int rank) {
  return store.string() + ".rank-" + std::to_string(rank);
}

void remove_store(const std::filesystem::path& file) {
  std::error_code ignored;
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + part, ignored);
  remove_part_stores(file);
}

void remove_part_stores(const std::filesystem::path& file) {
  std::error_code ignored;
  std::vector<std::filesystem::path> parts;
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path(), ignored))
    if (entry.path().filename().string().starts_with(file.filename().string() + ".rank-"))
      parts.push_back(entry.path());
  for (const auto& path : parts) std::filesystem::remove(path, ignored);
}

Result<StepConversations> hold_step_conversations(const StepSource& source, const ReinforceOptions& options) {
  return Step(source, options).run();
}

}  // namespace kw
