#pragma once
// A conversation as a client sees it: a list of events that grows, and whoever listens to it. Events have ids 1, 2, ...
// so that a client that lost its connection asks for those after the last one it has.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

struct ConversationEvent {
  std::int64_t id = 0;  // 0: passing, such as single tokens; it is not kept, and nobody asks for it again
  std::string name;     // "verdict"
  std::string data;     // JSON
};

enum class ConversationState : std::uint8_t { waiting, running, ended, cancelled };
std::string_view to_string(ConversationState state);

// What is known of it before the first event, and stays.
struct ConversationFacts {
  std::string id;
  std::string user;  // whose it is: the key's name; empty where the service has no keys
  std::string task;
  std::string model;
  std::string kind;     // "generate" or "optimize"
  std::string request;  // the body, from which it can be started again
  // Who answers, and where the outcome is counted; empty and 0 where no experiment decided it.
  std::string agents, experiment;
  std::int64_t exposure = 0;
  double created_s = 0;
};

class Conversation {
 public:
  // Called in the order of events, under the conversation's lock: it must be short. False: it wants no more.
  using Listener = std::function<bool(const ConversationEvent&)>;
  // Keeps an event on disk before anybody hears of it.
  using Keeper = std::function<void(const Conversation&, const ConversationEvent&)>;

  Conversation(ConversationFacts facts, Keeper keeper);
  // One that was read back.
  Conversation(ConversationFacts facts, Keeper keeper, std::vector<ConversationEvent> events, ConversationState state);

  const ConversationFacts& facts() const { return facts_; }
  ConversationState state() const;
  bool is_over() const;  // ended or cancelled
  std::int64_t last_event() const;
  std::vector<ConversationEvent> events() const;

  // The event "end" ends it: nothing is added afterwards.
  void add(std::string_view name, const nlohmann::ordered_json& data);
  void add_passing(std::string_view name, const nlohmann::ordered_json& data);
  void set_state(ConversationState state);

  // All events after `after`, then those to come.
  void listen(std::int64_t after, Listener listener);

  // Called once, when it is over; at once if it is already.
  void when_over(std::function<void()> then);

  // Set by whoever runs it; called at most once. Nothing to cancel yet: it is called as soon as it is set.
  void set_cancel(std::function<void()> cancel);
  void cancel();

  nlohmann::ordered_json summary() const;
  nlohmann::ordered_json to_json() const;

 private:
  void tell(const ConversationEvent& event);  // with the lock

  const ConversationFacts facts_;
  const Keeper keeper_;
  mutable std::mutex mutex_;
  std::vector<ConversationEvent> events_;
  std::vector<Listener> listeners_;
  std::vector<std::function<void()>> when_over_;
  ConversationState state_ = ConversationState::waiting;
  std::function<void()> cancel_;
  bool cancel_wanted_ = false;
};

}  // namespace kw
