#pragma once
// OpenAI's API as a client speaks it: the body of a question, and what comes back, which is hostile.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/http/http_client.h"
#include "model/rollout/generation.h"
#include "model/tokenizer/chatml.h"

namespace kw {

// What an endpoint turned out not to take; it is left out, or named otherwise, from then on.
struct EndpointManners {
  bool newer_length = false;  // max_completion_tokens instead of max_tokens
  bool no_temperature = false;
  bool no_top_p = false;
  bool no_seed = false;
};

struct EndpointQuestion {
  std::string model;
  std::vector<ChatMessage> messages;  // for chat/completions; empty: `text`, for completions
  std::string text;
  SamplingRule rule;
  std::int64_t max_tokens = 1024;
  std::vector<std::string> stop;
};

std::string question_body(const EndpointQuestion& question, const EndpointManners& manners);

struct Completion {
  std::string text;
  FinishReason finish = FinishReason::stop_token;
  TokenUsage usage;
};

// Of an answer with status 200. An error says what is wrong with it. What a model thinks aloud before its answer
// (<think>...</think>) is left out. Where the endpoint counts no tokens, four bytes are one.
Result<Completion> read_completion(const HttpResponse& response, bool chat);

// What a status other than 200 says, in one line that is safe to show: "HTTP 429: too many requests".
std::string refusal_of(const HttpResponse& response);
// Takes note of a parameter that the endpoint refuses by name. True: the question can be asked again in the new manner.
bool learn_manners(const HttpResponse& response, EndpointManners& manners);

// What the list of models says of one.
struct EndpointFacts {
  bool compact = false;      // it reads compact prompts: one of ours
  std::int64_t context = 0;  // tokens; 0: it does not say
};
EndpointFacts facts_of_model(const HttpResponse& models, const std::string& model);

// How long the endpoint asks to be left alone: Retry-After, retry-after-ms, or the time at which a limit on requests or
// tokens that is used up begins anew. None: it does not say.
std::optional<std::chrono::milliseconds> asked_to_wait(const HttpResponse& response);

}  // namespace kw
