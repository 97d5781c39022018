#include "app/serve/conversation.h"

#include <algorithm>

#include "app/serve/api_json.h"
#include "base/bounded_json.h"

namespace kw {
namespace {

Json parsed(const ConversationEvent& event) {
  Json json = Json::parse(event.data, nullptr, false);
  return json.is_object() ? json : Json::object();
}

Json best_of(const std::vector<ConversationEvent>& events) {
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (event->name != "turn" && event->name != "end") continue;
    Json data = parsed(*event);
    if (data.contains("best")) return data["best"];
  }
  return nullptr;
}

// Events of a turn that was interrupted by the end of a server are followed by the same ones again.
Json turns_of(const std::vector<ConversationEvent>& events) {
  Json turns = Json::array();
  for (const ConversationEvent& event : events) {
    if (event.name != "question" && event.name != "answer" && event.name != "verdict" && event.name != "turn") continue;
    Json data = parsed(event);
    const std::size_t turn = data.value("turn", std::size_t{0});
    if (turn > 1000) continue;
    while (turns.size() <= turn) turns.push_back(Json::object());
    Json& one = turns[turn];
    if (event.name == "question") one = {{"turn", turn}, {"role", data["role"]}, {"samples", Json::array()}};
    if (event.name == "turn") one.update({{"chosen", data["chosen"]}, {"seconds", data["seconds"]}});
    if (event.name != "answer" && event.name != "verdict") continue;
    const std::size_t sample = data.value("sample", std::size_t{0});
    if (sample > 1024) continue;
    while (one["samples"].size() <= sample) one["samples"].push_back(Json::object());
    data.erase("turn");
    one["samples"][sample].update(data);
  }
  return turns;
}

}  // namespace

std::string_view to_string(ConversationState state) {
  switch (state) {
    case ConversationState::waiting:
      return "waiting";
    case ConversationState::running:
      return "running";
    case ConversationState::ended:
      return "ended";
    case ConversationState::cancelled:
      return "cancelled";
  }
  return "";
}

Conversation::Conversation(ConversationFacts facts, Keeper keeper)
    : facts_(std::move(facts)), keeper_(std::move(keeper)) {}

Conversation::Conversation(ConversationFacts facts, Keeper keeper, std::vector<ConversationEvent> events,
                           ConversationState state)
    : facts_(std::move(facts)), keeper_(std::move(keeper)), events_(std::move(events)), state_(state) {}

ConversationState Conversation::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

bool Conversation::is_over() const {
  const ConversationState now = state();
  return now == ConversationState::ended || now == ConversationState::cancelled;
}

std::int64_t Conversation::last_event() const {
  const std::lock_guard lock(mutex_);
  return events_.empty() ? 0 : events_.back().id;
}

std::vector<ConversationEvent> Conversation::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

void Conversation::tell(const ConversationEvent& event) {
  std::erase_if(listeners_, [&](const Listener& listener) { return !listener(event); });
}

void Conversation::add(std::string_view name, const Json& data) {
  std::vector<Listener> done;  // listeners end, and others are told, after the lock
  std::vector<std::function<void()>> then;
  {
    const std::lock_guard lock(mutex_);
    if (!events_.empty() && events_.back().name == "end") return;
    ConversationEvent event{events_.empty() ? 1 : events_.back().id + 1, std::string(name), dump_json(data)};
    if (name == "end") {
      state_ = data.value("end", "") == "cancelled" ? ConversationState::cancelled : ConversationState::ended;
      cancel_ = nullptr;
    }
    events_.push_back(event);
    if (keeper_) keeper_(*this, event);
    tell(event);
    if (name == "end") {
      done.swap(listeners_);
      then.swap(when_over_);
    }
  }
  for (const auto& one : then) one();
}

void Conversation::when_over(std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    if (events_.empty() || events_.back().name != "end") {
      when_over_.push_back(std::move(then));
      return;
    }
  }
  then();
}

void Conversation::add_passing(std::string_view name, const Json& data) {
  const std::lock_guard lock(mutex_);
  if (!listeners_.empty()) tell({0, std::string(name), dump_json(data)});
}

void Conversation::set_state(ConversationState state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}

void Conversation::listen(std::int64_t after, Listener listener) {
  const std::lock_guard lock(mutex_);
  for (const ConversationEvent& event : events_)
    if (event.id > after && !listener(event)) return;
  if (events_.empty() || events_.back().name != "end") listeners_.push_back(std::move(listener));
}

void Conversation::set_cancel(std::function<void()> cancel) {
  {
    const std::lock_guard lock(mutex_);
    if (!cancel_wanted_) {
      cancel_ = std::move(cancel);
      return;
    }
  }
  cancel();
}

void Conversation::cancel() {
  std::function<void()> now;
  {
    const std::lock_guard lock(mutex_);
    cancel_wanted_ = true;
    now.swap(cancel_);
  }
  if (now) now();
}

Json Conversation::summary() const {
  const std::lock_guard lock(mutex_);
  const Json best = best_of(events_);
  std::int64_t turns = 0;
  for (const ConversationEvent& event : events_) turns += event.name == "turn" ? 1 : 0;
  return {{"id", facts_.id},
          {"task", facts_.task},
          {"model", facts_.model},
          {"state", to_string(state_)},
          {"turns", turns},
          {"created_s", facts_.created_s},
          {"best_speedup", best.is_object() ? best["speedup"] : Json(nullptr)}};
}

Json Conversation::to_json() const {
  Json json = summary();
  const std::lock_guard lock(mutex_);
  json["end"] = nullptr;
  json["best"] = best_of(events_);
  json["turns"] = turns_of(events_);
  json["events"] = events_.empty() ? 0 : events_.back().id;
  for (const ConversationEvent& event : events_) {
    if (event.name == "baseline") json["baseline"] = parsed(event);
    if (event.name == "given") json["given"] = parsed(event);
    if (event.name == "begin") json["not_understood"] = parsed(event).value("not_understood", Json::array());
    if (event.name != "end") continue;
    const Json end = parsed(event);
    for (const char* key : {"end", "problem", "gain", "seconds", "tokens"})
      json[key] = end.contains(key) ? end[key] : Json(nullptr);
  }
  return json;
}

}  // namespace kw
