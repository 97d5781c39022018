#pragma once
// One step of a model for many sequences at once, whatever device computes it: some sequences hand in a chunk of their
// prompt, others the one token that was sampled last. Scheduling, pages and stopping are the caller's (rollout.h).

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/decoder/token_mask.h"

namespace kw {

struct SamplingRule {
  float temperature = 1;   // 0: the likeliest token
  std::int32_t top_k = 0;  // 0: all
  float top_p = 1;
  std::uint64_t seed = 0;  // the n-th token of an answer depends on the seed and n alone, never on the batch
};

struct DecoderRow {
  std::span<const std::int32_t> tokens;  // to be processed now, at positions `first_position`, ...
  std::int64_t first_position = 0;
  std::span<const std::int32_t>
      pages;  // page numbers of the sequence, enough for all positions up to the last of these tokens
  std::int32_t adapter = -1;
  bool sample = false;  // whether the token after the last of these is wanted
  SamplingRule rule;
  std::int64_t answer_index = 0;       // how many tokens of the answer were sampled before
  const TokenMask* allowed = nullptr;  // sampled among these alone; null: among all. Only where constrains() says so
};

struct SampledToken {
  std::int32_t token = -1;  // -1: none was wanted
  float log_prob =
      0;  // under softmax(logits / temperature), over all that is usable and allowed; at temperature 0 as at 1
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual std::int64_t page_tokens() const = 0;
  virtual std::int64_t page_count() const = 0;   // that the memory budget allows
  virtual std::int64_t context() const = 0;      // positions that a sequence can have
  virtual std::int64_t most_tokens() const = 0;  // of one step, all rows together
  // What a request may ask for: token ids below it, adapters -1 .. adapters() - 1.
  virtual std::int64_t vocabulary() const { return std::numeric_limits<std::int32_t>::max(); }
  virtual std::int64_t adapters() const { return std::numeric_limits<std::int32_t>::max(); }
  // Whether it samples among the allowed tokens of a row. One that does not is asked without.
  virtual bool constrains() const { return false; }
  // One entry for each row.
  virtual Result<std::vector<SampledToken>> step(std::span<const DecoderRow> rows) = 0;
  // The content of page `from` into page `to`: a shared page is copied before one of its owners writes into it.
  virtual Result<void> copy_page(std::int32_t from, std::int32_t to) = 0;
  // Weights that are used from the next step on. Pages that were filled before are of no use afterwards.
  virtual std::int64_t weights_version() const = 0;
};

}  // namespace kw
