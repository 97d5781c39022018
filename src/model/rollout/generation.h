#pragma once
// What is asked of a rollout and what comes back.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/rollout/constraint.h"
#include "model/rollout/decoder.h"

namespace kw {

using RequestId = std::int64_t;  // counts up: a smaller one is older

enum class FinishReason {
  stop_token,
  stop_string,
  length,     // max_tokens
  context,    // the model's context, or the memory for keys and values, holds no longer sequence
  cancelled,  // what there was by then is in the result
  failed,     // there is no answer: whoever was asked, elsewhere, did not give one
};
std::string_view to_string(FinishReason reason);  // "stop_token"

// One token of an answer, for who wants to see it at once.
struct TokenEvent {
  RequestId request = 0;
  std::int64_t sample = 0;
  SampledToken token;      // token -1: there is none with this event, it only says that the answer is over
  std::string_view text;   // that became certain with it; UTF-8 characters are whole, stop strings are never in it
  bool finished = false;   // the last event of this sample
  bool restarted = false;  // what came before is void: the answer is sampled again from its beginning; no token
};

struct GenerationRequest {
  std::vector<std::int32_t> prompt;  // at least one token
  std::int64_t samples = 1;          // answers to it; they share the memory of the prompt
  SamplingRule rule;                 // its seed is sample 0's; the others have sample_seed()
  std::int64_t max_tokens = 256;     // of each answer
  std::vector<std::int32_t> stop_tokens;
  std::vector<std::string> stop_strings;  // in the text without special tokens; needs a tokenizer
  std::int32_t adapter = -1;
  // What answers may consist of; null: anything. A decoder that does not constrain, and a model elsewhere, answer
  // without: GeneratedSample::constrained says how it was.
  std::shared_ptr<const Constraint> constraint = {};
  // How often an answer that is cut off before its constraint says that it is complete is sampled again, at once, with
  // another seed. Not at temperature 0, where it would be the same. What such an answer's log-probabilities are
  // conditioned on is no longer the prompt alone: training has 0 here.
  std::int64_t most_resamples = 0;
  std::function<void(const TokenEvent&)> on_token;  // called from advance(); may submit and cancel
};

std::uint64_t sample_seed(std::uint64_t seed, std::int64_t sample);
// Of the n-th time that a sample is sampled again.
std::uint64_t resample_seed(std::uint64_t seed, std::int64_t times);

// What an answer from elsewhere cost, as whoever gave it counts: which tokens those were is not known here.
struct TokenUsage {
  std::int64_t prompt_tokens = 0;
  std::int64_t answer_tokens = 0;
};

struct GeneratedSample {
  std::vector<std::int32_t> tokens;  // exactly as sampled: the stop token and what completed a stop string included
  std::vector<float> log_probs;      // one for each token, of the constrained policy; 0 where there was no choice
  bool constrained = false;          // by the request's constraint
  std::int64_t forced_tokens = 0;    // of the answer's: the only ones allowed, so the model was not asked
  std::int64_t resampled = 0;        // times that it was begun anew
  FinishReason finish = FinishReason::length;
  std::string text;  // without special tokens, up to the stop string; empty when there is no tokenizer
  // Of the first and the last token: they differ when the weights were replaced meanwhile.
  std::int64_t weights_version = -1;
  std::int64_t last_weights_version = -1;
  TokenUsage usage;                    // of an answer from elsewhere
  std::string problem;                 // with `failed`: why, in one sentence
  std::int64_t recomputed_tokens = 0;  // because memory ran out or weights changed; the answer does not depend on it
  // Seconds since submit().
  double started_s = 0;  // first time it was part of a step
  double first_token_s = 0;
  double finished_s = 0;
};

// Of an answer, wherever it comes from.
inline std::int64_t token_count(const std::vector<std::int32_t>& tokens, const TokenUsage& usage) {
  return tokens.empty() ? usage.answer_tokens : static_cast<std::int64_t>(tokens.size());
}

struct GenerationResult {
  RequestId id = 0;
  std::vector<GeneratedSample> samples;
};

}  // namespace kw
