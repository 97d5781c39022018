#pragma once
// What an answer may consist of, said while it is decoded. A constraint is a small automaton over tokens: in each state
// it names the tokens that may come next, and a sampler draws among them alone. The policy is then the model's softmax
// over what is allowed; a trainer that scores such answers gets the same masks by going through the tokens again.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/decoder/token_mask.h"

namespace kw {

// Of one answer, as far as it is.
class ConstraintState {
 public:
  virtual ~ConstraintState() = default;
  // At least one token; null: all. Lives as long as the constraint.
  virtual const TokenMask* allowed() = 0;
  // The only token that is allowed, where it is part of a run of such; -1: there is a choice, or the model is asked.
  virtual std::int32_t forced() const = 0;
  // A token that was not allowed frees the answer from here on: whoever made it does not know of constraints.
  virtual void take(std::int32_t token) = 0;
  // Whether it could end here.
  virtual bool complete() const = 0;
};

// Shared by the samples of a request, and by threads. Not changed by what they do, as far as anybody can see.
class Constraint {
 public:
  virtual ~Constraint() = default;
  virtual std::unique_ptr<ConstraintState> begin() const = 0;
};

// The mask of each token of an answer; null: all were allowed.
inline std::vector<const TokenMask*> masks_of(const Constraint& constraint, std::span<const std::int32_t> tokens) {
  std::vector<const TokenMask*> masks;
  masks.reserve(tokens.size());
  const auto state = constraint.begin();
  for (const std::int32_t token : tokens) {
    const TokenMask* allowed = state->allowed();
    masks.push_back(allowed != nullptr && allowed->allows(token) ? allowed : nullptr);
    state->take(token);
  }
  return masks;
}

}  // namespace kw
