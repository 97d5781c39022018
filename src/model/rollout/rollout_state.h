#pragma once
// What a Rollout knows of its requests; for its own sources only.

#include <algorithm>

#include "model/rollout/rollout.h"

namespace kw {

struct Rollout::Sequence {
  Group* group = nullptr;
  std::int64_t sample = -1;          // -1: the trunk
  std::vector<std::int32_t> tokens;  // prompt and answer; of a trunk all of the prompt but its last token
  std::int64_t computed = 0;         // of them, whose keys and values are in the pages
  std::int64_t most_computed = 0;    // ever: what is computed below it is computed again
  std::vector<std::int32_t> pages;
  SamplingRule rule;
  AnswerText text;
  std::unique_ptr<ConstraintState> constraint;  // null: none
  GeneratedSample result;
  bool done = false;

  bool trunk() const { return sample < 0; }
  std::int64_t left() const { return static_cast<std::int64_t>(tokens.size()) - computed; }
};

struct Rollout::Group {
  RequestId id = 0;
  GenerationRequest request;
  Clock::time_point submitted;
  std::unique_ptr<Sequence> trunk;  // when samples share one
  std::vector<std::unique_ptr<Sequence>> samples;
  std::int64_t unfinished = 0;
};

}  // namespace kw
