#pragma once
// What a client wants of a conversation: the body of POST /v1/generate and /v1/optimize, read and bounded.

#include <nlohmann/json.hpp>

#include <string>

#include "agents/episode/turn_policy.h"
#include "app/serve/request_fields.h"

namespace kw {

struct ConversationWish {
  std::string id;        // that the client chose, so that it may ask again; empty: the service's choice
  bool optimize = true;  // false: one turn of the Generator alone
  nlohmann::json task;   // a name, or {"yaml": ...}
  std::string kernel;    // to begin with; may be empty
  std::string level;     // what the Generator is asked for; may be empty
  std::string model;     // a set of agents; empty: the service's own choice
  std::string user;      // for A/B rollout: the same user gets the same agents
  LibraryUse library = LibraryUse::baseline;  // begin: "from": "library"
  EpisodeOptions options;
  bool stream = false;
};

// `optimize`: of POST /v1/optimize; otherwise /v1/generate, which has fewer members. Problems are in `fields`.
ConversationWish read_conversation_wish(RequestFields& fields, bool optimize);

}  // namespace kw
