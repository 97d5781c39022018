#pragma once
// One token from a row of logits. The token depends on the logits, the rule and the index in the answer alone: random
// numbers are counted, not drawn from a state. No sorting of the vocabulary.

#include <cstdint>
#include <vector>

#include "model/rollout/decoder.h"

namespace kw {

// Memory that is used again from call to call; one for each thread.
struct SamplerScratch {
  struct Candidate {
    std::int32_t token = 0;
    float weight = 0;  // exp((logit - largest) / temperature)
  };
  std::vector<float> weights;
  std::vector<double> block_sums;
  std::vector<float> block_largest;
  std::vector<double> masses;
  std::vector<Candidate> candidates, border;
};

// Over the first `usable` logits.
// top_k: the k likeliest, of equal ones those that come first. top_p, after it: the smallest set of likeliest tokens
// whose share of what top_k left is at least p. The log-probability is that of the whole usable vocabulary. Token -1
// when the logits have no largest number (NaN).
SampledToken sample_token(const float* logits, std::int64_t usable, const SamplingRule& rule, std::int64_t answer_index,
                          SamplerScratch& scratch);

}  // namespace kw
