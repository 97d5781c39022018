#pragma once
// What a judge is, as it tells others: two whose facts are alike and who share a secret give every kernel the same
// verdict (measured times apart, which are alike on GPUs that are named alike).

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "kernel/judge/judge.h"

namespace kw {

struct JudgeFacts {
  std::string rules;           // a hash: version and options of the judge
  std::string backend;         // "emulator" or "gpu"
  std::string device;          // the GPU's name; empty: there is none
  std::string profile;         // whose time is modelled
  std::string profile_digest;  // of its numbers
  int workers = 1;             // kernels at a time
  double limit_seconds = 0;    // of a judgement
  std::string proof;           // of the secret, for a challenge

  // "measured on NVIDIA H200", "emulated, times modelled for NVIDIA H200"
  std::string description() const;
};

JudgeFacts facts_of(const Judge& judge, int workers, std::string_view challenge);

nlohmann::ordered_json to_json(const JudgeFacts& facts);
// Of an answer that nobody vouches for.
Result<JudgeFacts> read_judge_facts(std::string_view text);

// How the two differ in what a verdict depends on, in a sentence; empty: they do not.
std::string difference(const JudgeFacts& one, const JudgeFacts& other);

}  // namespace kw
