#include "app/serve/conversation_desk.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <chrono>

#include "app/serve/api_json.h"
#include "app/serve/conversation_events.h"
#include "base/log.h"

namespace kw {
namespace {

// On disk; older ones that are over are forgotten.
constexpr std::int64_t kept_conversations = 20'000;
constexpr std::uint64_t kept_bytes = std::uint64_t{4} << 30;

Outcome failed_outcome() {
  Outcome outcome;
  outcome.error = true;
  return outcome;
}

// Nobody can guess one: without keys, an id is all that a stranger would need.
std::string new_id() {
  std::array<unsigned char, 16> bytes{};
  KW_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string id = "conv-";
  for (const unsigned char byte : bytes) id += fmt::format("{:02x}", byte);
  return id;
}

}  // namespace

Result<std::unique_ptr<ConversationDesk>> ConversationDesk::open(const std::filesystem::path& file, TaskBook& tasks,
                                                                 AgentSets& sets, ExperimentDesk& experiments,
                                                                 WorkQueue& work, std::string judge) {
  KW_TRY(auto store, ConversationStore::open(file));
  return std::unique_ptr<ConversationDesk>(
      new ConversationDesk(std::move(store), tasks, sets, experiments, work, std::move(judge)));
}

ConversationDesk::ConversationDesk(std::unique_ptr<ConversationStore> store, TaskBook& tasks, AgentSets& sets,
                                   ExperimentDesk& experiments, WorkQueue& work, std::string judge)
    : tasks_(tasks),
      sets_(sets),
      experiments_(experiments),
      work_(work),
      judge_(std::move(judge)),
      store_(std::move(store)) {}

Conversation::Keeper ConversationDesk::keeper() {
  return [this](const Conversation& conversation, const ConversationEvent& event) {
    const std::lock_guard lock(store_mutex_);
    const auto kept = store_->add(conversation.facts().id, event);
    if (!kept.ok()) log_event(LogLevel::error, "conversation_not_kept", {{"problem", to_string(kept.error())}});
  };
}

ConversationDesk::Begun ConversationDesk::begun_before(const std::string& id, const std::string& user,
                                                       const std::string& body) {
  std::shared_ptr<Conversation> known = open_one(id);
  if (!known) known = read(id);
  if (!known) return {};
  if (known->facts().user == user && known->facts().request == body) return {known, {}};
  return {nullptr, http_error(409, "another conversation has this id", "id")};
}

ConversationDesk::Begun ConversationDesk::begin(const ConversationWish& wish, const std::string& user,
                                                const std::string& body) {
  const auto refused = [](HttpResponse response) { return Begun{nullptr, std::move(response)}; };
  const auto task = tasks_.find(wish.task);
  if (!task.ok()) return refused(http_error(400, to_string(task.error()), "task"));
  if (const auto sound = (*task)->check(); !sound.ok())
    return refused(http_error(400, "the task's PyTorch text does not run: " + to_string(sound.error()), "task"));
  if (!wish.model.empty() && !sets_.find(wish.model))
    return refused(http_error(404, fmt::format("there are no agents '{}'", wish.model), "model", "model_not_found"));

  std::unique_lock<std::mutex> beginning;
  if (!wish.id.empty()) {
    beginning = std::unique_lock(beginning_);
    const Begun before = begun_before(wish.id, user, body);
    if (before.conversation || before.refusal.status != 200) return before;
  }
  ConversationFacts facts;
  facts.id = wish.id.empty() ? new_id() : wish.id;
  facts.user = user;
  facts.task = (*task)->task()->name;
  facts.kind = wish.optimize ? "optimize" : "generate";
  facts.request = body;
  facts.created_s = seconds_since_1970();
  AssignedAgents assigned{"", wish.model, 0};
  if (wish.model.empty()) {
    const std::string& who = !wish.user.empty() ? wish.user : user;
    if (const auto arm = experiments_.assign(who.empty() ? facts.id : who, facts.id)) assigned = *arm;
  }
  facts.agents = assigned.agents;
  facts.experiment = assigned.experiment;
  facts.exposure = assigned.exposure;
  // Agents that cannot be loaded are an error of their arm, and the user gets what everybody gets.
  if (assigned.exposure != 0 && !sets_.find(assigned.agents)) {
    experiments_.conclude(assigned, failed_outcome());
    assigned = {};
    facts.agents = facts.experiment = "";
    facts.exposure = 0;
  }
  const auto agents = sets_.find(assigned.agents);
  facts.model = agents ? agents->model().name() : assigned.agents;
  auto conversation = std::make_shared<Conversation>(std::move(facts), keeper());
  {
    const std::lock_guard lock(store_mutex_);
    const auto kept = store_->begin(conversation->facts());
    if (!kept.ok()) return refused(http_error(500, "the conversation cannot be kept: " + kept.error().message));
  }
  const auto started = start(conversation, wish, *task, assigned, false);
  if (!started.ok()) {
    conversation->add("end", end_event(started.error()));
    experiments_.conclude(assigned, failed_outcome());
    return refused(http_error(429, to_string(started.error())));
  }
  return {conversation, {}};
}

Result<void> ConversationDesk::start(const std::shared_ptr<Conversation>& conversation, const ConversationWish& wish,
                                     const std::shared_ptr<KnownTask>& task, const AssignedAgents& assigned,
                                     bool resumed) {
  auto agents = sets_.find(assigned.agents);
  if (!agents) agents = sets_.find("");
  if (!agents) return Error{"no agents are loaded", "", {}};
  EpisodeRequest request;
  request.task = task->task();
  request.level = wish.level;
  request.kernel = wish.kernel;
  request.library = wish.library;
  request.name = conversation->facts().id;
  if (resumed) {
    conversation->add("resumed", {{"id", conversation->facts().id}});
  } else {
    Json begin = {{"id", conversation->facts().id}};
    begin.update(begin_event(*request.task, wish.options, wish.kernel));
    begin.update({{"model", agents->model().name()}, {"device", agents->model().device()}, {"judge", judge_}});
    conversation->add("begin", begin);
  }
  {
    const std::lock_guard lock(mutex_);
    open_[conversation->facts().id] = conversation;
  }
  const auto began = std::chrono::steady_clock::now();
  const auto on_end = [this, conversation, assigned, agents, began](Result<Episode> episode) {
    if (closing_) return over(conversation);
    const double latency_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
    const Outcome outcome = episode.ok() ? outcome_of(*episode, latency_ms) : failed_outcome();
    // A conversation that its user cancelled says nothing about the agents.
    const bool counts = !(episode.ok() && episode->end == EpisodeEnd::cancelled);
    conversation->add("end", end_event(episode));
    over(conversation);
    if (assigned.exposure == 0 || !counts) return;
    if (!work_.submit([this, assigned, outcome] { experiments_.conclude(assigned, outcome); }))
      log_event(LogLevel::error, "experiment", {{"what", "an outcome is lost: too much is waiting"}});
  };
  const auto ticket = agents->converse(std::move(request), wish.options, events_of(conversation), on_end);
  if (!ticket.ok()) {
    over(conversation);
    return ticket.error();
  }
  conversation->set_cancel([agents, ticket = *ticket] { agents->cancel(ticket); });
  return {};
}

void ConversationDesk::over(const std::shared_ptr<Conversation>& conversation) {
  const std::lock_guard lock(mutex_);
  ended_ += static_cast<std::int64_t>(open_.erase(conversation->facts().id));
}

std::shared_ptr<Conversation> ConversationDesk::read(const std::string& id) {
  const std::lock_guard lock(store_mutex_);
  auto stored = store_->find(id);
  if (!stored.ok() || !*stored) return nullptr;
  return std::make_shared<Conversation>((*stored)->facts, keeper(), std::move((*stored)->events), (*stored)->state);
}

std::shared_ptr<Conversation> ConversationDesk::open_one(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto open = open_.find(id);
  return open != open_.end() ? open->second : nullptr;
}

std::shared_ptr<Conversation> ConversationDesk::find(const std::string& id, const std::string& user) {
  std::shared_ptr<Conversation> found = open_one(id);
  if (!found) found = read(id);
  return found && found->facts().user == user ? found : nullptr;
}

void ConversationDesk::forget_old() {
  // Without the lock in between: conversations that go on are kept by the thread of their model.
  for (bool more = true; more && !closing_;) {
    const std::lock_guard lock(store_mutex_);
    const auto forgotten = store_->forget_some(kept_conversations, kept_bytes);
    if (!forgotten.ok())
      log_event(LogLevel::error, "conversations_not_forgotten", {{"problem", to_string(forgotten.error())}});
    more = forgotten.ok() && *forgotten;
  }
}

std::vector<Json> ConversationDesk::newest(const std::string& user, std::size_t most) {
  std::vector<std::string> ids;
  {
    const std::lock_guard lock(store_mutex_);
    auto known = store_->newest(user, most);
    if (known.ok()) ids = std::move(known).value();
  }
  std::vector<Json> all;
  for (const std::string& id : ids) {
    if (const auto conversation = open_one(id)) {
      all.push_back(conversation->summary());
      continue;
    }
    const std::lock_guard lock(store_mutex_);
    auto stored = store_->find_summary(id);
    if (!stored.ok() || !*stored) continue;
    all.push_back(Conversation((*stored)->facts, nullptr, std::move((*stored)->events), (*stored)->state).summary());
  }
  return all;
}

void ConversationDesk::resume(const std::string& id) {
  const auto conversation = read(id);
  if (!conversation) return;
  const auto give_up = [&](const Error& why) { conversation->add("end", end_event(why)); };
  HttpRequest again;
  again.body = conversation->facts().request;
  RequestFields fields(again);
  const ConversationFacts& facts = conversation->facts();
  const ConversationWish wish = read_conversation_wish(fields, facts.kind == "optimize");
  if (fields.problem()) return give_up(Error{"the request cannot be read again", "", {}});
  const auto task = tasks_.find(wish.task);
  if (!task.ok()) return give_up(task.error());
  const auto started = start(conversation, wish, *task, {facts.experiment, facts.agents, facts.exposure}, true);
  if (!started.ok()) give_up(started.error());
}

Result<void> ConversationDesk::resume_unfinished() {
  std::vector<std::string> ids;
  {
    const std::lock_guard lock(store_mutex_);
    KW_TRY(ids, store_->unfinished());
  }
  for (const std::string& id : ids) resume(id);
  if (!ids.empty()) log_event(LogLevel::info, "conversations_resumed", {{"count", ids.size()}});
  return {};
}

ConversationCounts ConversationDesk::counts() const {
  const std::lock_guard lock(mutex_);
  return {static_cast<std::int64_t>(open_.size()), ended_};
}

}  // namespace kw
