#include "agents/service/agent_service.h"

#include <cmath>
#include <future>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"

namespace kw {
namespace {

// While only the judge works, the thread sleeps until a verdict comes or somebody wakes it.
constexpr std::chrono::milliseconds judge_patience = std::chrono::minutes(1);

Result<void> check_samples(std::int64_t samples, std::int64_t most) {
  if (samples < 1 || samples > most) return Error{fmt::format("a request has 1 to {} samples", most), "", {}};
  return {};
}

Result<void> check_answer(const AgentService::AnswerRequest& request, const AgentServiceOptions& options) {
  KW_TRY_VOID(check_samples(request.samples, options.max_samples));
  if (!std::isfinite(request.rule.temperature)) return Error{"the temperature is no number", "", {}};
  if (request.stop.size() > AgentService::max_stops)
    return Error{fmt::format("at most {} strings can end an answer", AgentService::max_stops), "", {}};
  for (const std::string& stop : request.stop)
    if (stop.size() > AgentService::max_stop_bytes)
      return Error{fmt::format("a stop string has at most {} bytes", AgentService::max_stop_bytes), "", {}};
  return {};
}

Result<void> check_conversation(const EpisodeRequest& request, const EpisodeOptions& options, std::int64_t most) {
  if (request.task == nullptr) return Error{"a conversation needs a task", "", {}};
  if (request.kernel.size() > max_prompt_kernel_bytes)
    return Error{"the kernel is too long for a prompt", "at most 64 KiB", {}};
  return check_samples(options.samples, most);
}

}  // namespace

Result<std::unique_ptr<AgentService>> AgentService::open(const AgentServiceOptions& options, JudgePool& judges,
                                                         const std::string& judge_identity) {
  const auto load = [&] { return AgentModel::open(options.model, options.loading); };
  return open(options, load, judges, judge_identity);
}

Result<std::unique_ptr<AgentService>> AgentService::open(const AgentServiceOptions& options, Load load,
                                                         JudgePool& judges, const std::string& judge_identity) {
  if (options.max_waiting < 1 || options.conversations_in_flight < 1 || options.max_samples < 1)
    return Error{"a service needs room for at least one request of one sample", "", {}};
  std::unique_ptr<AgentService> service(new AgentService(options));
  // What a GPU keeps for a thread is the thread's that computes: it loads the model, too.
  const auto loaded = std::make_shared<std::promise<Result<void>>>();
  auto done = loaded->get_future();
  service->thread_ = std::thread([self = service.get(), loaded, &load, &judges, &judge_identity] {
    auto result = self->load(load, judges, judge_identity);
    const bool ready = result.ok();
    loaded->set_value(std::move(result));  // what was captured by reference may be gone from here on
    if (ready) self->serve();
  });
  KW_TRY_VOID(done.get());
  return service;
}

Result<void> AgentService::load(const Load& load, JudgePool& judges, const std::string& judge_identity) {
  KW_TRY(model_, load());
  if (!options_.store.empty()) {
    KW_TRY(store_, EpisodeStore::open(options_.store));
  }
  context_ = model_->context();
  encoder_ = std::make_unique<Encoder>(tokenizer());
  RolloutOptions rollout_options;
  rollout_options.most_running = options_.loading.most_rows;
  KW_TRY(rollout_, model_->make_answers(rollout_options));
  EngineOptions engine_options;
  KW_TRY(engine_options.episode, episode_options());
  engine_options.in_flight = options_.conversations_in_flight;
  engine_options.store = store_.get();
  engine_options.store_required = false;  // a full disk is no reason to turn users away
  engine_options.model = fmt::format("{} {} {}", model_->fingerprint(), model_->device(), judge_identity);
  engine_options.on_other_result = [this](GenerationResult result) { answered_.push_back(std::move(result)); };
  KW_TRY(engine_, EpisodeEngine::make(
                      *rollout_, model_->dialect(), judges, [this](AgentRole role) { return model_->adapter_of(role); },
                      std::move(engine_options)));
  return {};
}

AgentService::~AgentService() {
  {
    const std::lock_guard lock(mutex_);
    draining_ = ending_ = true;
    if (engine_) wake();
  }
  thread_.join();
}

void AgentService::serve() {
  bool busy = false;
  for (;;) {
    if (!busy) wait_for_work();
    {
      const std::lock_guard lock(mutex_);
      has_work_ = false;
      if (ending_) break;
    }
    const auto moved = engine_->advance(judge_patience);
    busy = !moved.ok() || *moved;
    if (!moved.ok()) {
      log_event(LogLevel::error, "agents_failed", {{"model", model_->name()}, {"reason", to_string(moved.error())}});
      cancel_all(moved.error());
    }
    publish();
    hand_out();
  }
  end_all();
  // The thread that computed gives back what it computed with.
  engine_.reset();
  rollout_.reset();
  store_.reset();
  model_.reset();
}

void AgentService::wait_for_work() {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [&] { return has_work_; });
}

// What is cancelled ends without a step of the decoder, so this cannot fail for long.
void AgentService::end_all() {
  cancel_all(std::nullopt);
  for (;;) {
    const auto moved = engine_->advance(std::chrono::milliseconds(0));
    if (!moved.ok()) cancel_all(moved.error());
    hand_out();
    const std::lock_guard lock(mutex_);
    if (open_.empty()) return;
  }
}

void AgentService::cancel_all(const std::optional<Error>& failure) {
  const std::lock_guard lock(mutex_);
  for (auto& [ticket, open] : open_) {
    if (failure && !open.failure) open.failure = failure;
    open.conversation ? engine_->cancel(open.id) : rollout_->cancel(static_cast<RequestId>(open.id));
  }
}

void AgentService::hand_out() {
  const auto ended = [this] {
    const std::lock_guard lock(mutex_);
    if (--unanswered_ == 0) all_ended_.notify_all();
  };
  for (GenerationResult& result : std::exchange(answered_, {})) {
    auto open = take_out(answers_, static_cast<std::uint64_t>(result.id));
    if (!open) continue;
    result.id = static_cast<RequestId>(open->ticket);
    if (open->on_answer) open->on_answer(open->failure ? Result<GenerationResult>(*open->failure) : std::move(result));
    ended();
  }
  for (Episode& episode : engine_->take_finished()) {
    auto open = take_out(conversations_, episode.ticket);
    if (!open) continue;
    if (open->on_episode) open->on_episode(open->failure ? Result<Episode>(*open->failure) : std::move(episode));
    ended();
  }
}

std::optional<AgentService::Open> AgentService::take_out(std::map<std::uint64_t, Ticket>& by_id, std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto ticket = by_id.find(id);
  if (ticket == by_id.end()) return std::nullopt;
  auto node = open_.extract(ticket->second);
  by_id.erase(ticket);
  Open open = std::move(node.mapped());
  --(open.begun ? running(open.conversation) : waiting(open.conversation));
  ++(open.conversation ? counts_.conversations : counts_.answers);
  counts_.failures += open.failure.has_value();
  return open;
}

void AgentService::publish() {
  const EngineStatistics engine = engine_->statistics();
  const RolloutStatistics& rollout = rollout_->statistics();
  const std::lock_guard lock(mutex_);
  counts_.rows = rollout_->running();
  counts_.pages = rollout_->used_pages();
  counts_.sampled_tokens = rollout.sampled_tokens;
  counts_.prompt_tokens = rollout.prompt_tokens;
  counts_.turns = engine.turns;
  counts_.kernels = engine.kernels;
}

Result<void> AgentService::check_room() {
  if (draining_) return Error{closing_message, "", {}};
  if (counts_.answers_waiting + counts_.conversations_waiting < options_.max_waiting) return {};
  ++counts_.refused;
  return Error{full_message, "try again later", {}};
}

void AgentService::enter(Open open) {
  ++unanswered_;
  ++waiting(open.conversation);
  ++next_ticket_;
  (open.conversation ? conversations_ : answers_).emplace(open.id, open.ticket);
  const Ticket ticket = open.ticket;
  open_.emplace(ticket, std::move(open));
  wake();
}

void AgentService::wake() {
  has_work_ = true;
  work_.notify_one();
  engine_->wake();
}

void AgentService::note_begin(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(ticket);
  if (found == open_.end() || found->second.begun) return;
  found->second.begun = true;
  --waiting(found->second.conversation);
  ++running(found->second.conversation);
}

Result<AgentService::Ticket> AgentService::answer(AnswerRequest request, OnToken on_token, OnAnswer on_end) {
  KW_TRY_VOID(check_answer(request, options_));
  const auto role = role_of(request.speaker);
  GenerationRequest generation;
  generation.prompt = std::move(request.prompt);
  generation.samples = request.samples;
  generation.rule = request.rule;
  generation.max_tokens = request.max_tokens;
  generation.stop_strings = std::move(request.stop);
  const auto stops = model_->dialect().stop_tokens();
  generation.stop_tokens.assign(stops.begin(), stops.end());
  generation.adapter = role ? model_->adapter_of(*role) : -1;

  const std::lock_guard lock(mutex_);
  KW_TRY_VOID(check_room());
  Open open;
  open.ticket = next_ticket_;
  open.on_answer = std::move(on_end);
  generation.on_token = [this, ticket = open.ticket, begun = false,
                         listener = std::move(on_token)](const TokenEvent& event) mutable {
    if (!begun) note_begin(ticket);
    begun = true;
    if (!listener) return;
    TokenEvent theirs = event;
    theirs.request = static_cast<RequestId>(ticket);
    listener(theirs);
  };
  KW_TRY(const RequestId id, rollout_->submit(std::move(generation)));
  open.id = static_cast<std::uint64_t>(id);
  const Ticket ticket = open.ticket;
  enter(std::move(open));
  return ticket;
}

Result<AgentService::Ticket> AgentService::converse(EpisodeRequest request, EpisodeOptions options, EpisodeHooks hooks,
                                                    OnEpisode on_end) {
  KW_TRY_VOID(check_conversation(request, options, options_.max_samples));
  const std::lock_guard lock(mutex_);
  KW_TRY_VOID(check_room());
  Open open;
  open.ticket = next_ticket_;
  open.conversation = true;
  open.on_episode = std::move(on_end);
  hooks.on_begin = [this, ticket = open.ticket, listener = std::move(hooks.on_begin)](const Episode& episode) {
    note_begin(ticket);
    if (listener) listener(episode);
  };
  KW_TRY(open.id, engine_->submit(std::move(request), std::move(options), std::move(hooks)));
  const Ticket ticket = open.ticket;
  enter(std::move(open));
  return ticket;
}

void AgentService::cancel(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(ticket);
  if (found == open_.end()) return;
  const Open& open = found->second;
  open.conversation ? engine_->cancel(open.id) : rollout_->cancel(static_cast<RequestId>(open.id));
  wake();
}

void AgentService::drain() {
  std::unique_lock lock(mutex_);
  draining_ = true;
  all_ended_.wait(lock, [&] { return unanswered_ == 0; });
}

void AgentService::close() {
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }
  cancel_all(std::nullopt);
  {
    const std::lock_guard lock(mutex_);
    wake();
  }
  drain();
}

Result<std::vector<std::int32_t>> AgentService::prompt_of(const std::vector<ChatMessage>& messages, Speaker speaker) {
  const std::lock_guard lock(encoder_mutex_);
  return chat_prompt(*encoder_, model_->dialect(), messages, speaker, model_->default_system());
}

Result<std::vector<std::int32_t>> AgentService::prompt_of(const std::string& text) {
  if (text.size() > max_chat_bytes) return Error{"the prompt is too long", "at most 1 MiB", {}};
  const std::lock_guard lock(encoder_mutex_);
  return encoder_->encode(text, SpecialTokens::recognised);
}

AgentServiceCounts AgentService::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace kw
