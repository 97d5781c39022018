#pragma once
// One gradient step of a model, whatever device computes it. The loss is not known here: forward() scores the tokens,
// the caller turns scores into a loss and says how the loss changes with each score, backward() does the rest.
// Supervised training is d_log_prob = -1 / tokens; PPO, GRPO and the value loss are other numbers in the same places.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/decoder/adapter.h"
#include "model/decoder/optimizer_options.h"
#include "model/decoder/parameters.h"
#include "model/decoder/token_mask.h"

namespace kw {

class Communicator;

// Sequences of any lengths, one after the other, without padding.
struct PackedBatch {
  std::vector<std::int32_t> tokens;
  std::vector<std::int64_t> starts;  // of each sequence, and the end: sequences + 1 numbers
  std::vector<std::int32_t>
      adapter;  // of each sequence: index of the trainer's adapters, -1 the bare base; empty: all -1
  // Which tokens are scored: token i (never the first of its sequence) is predicted from those before it. One for each
  // token.
  std::vector<std::uint8_t> scored;
  // Among which tokens each was chosen: scores are those of the softmax over them. One for each token; null, or none at
  // all: among all. They outlive the batch.
  std::vector<const TokenMask*> allowed = {};
  float temperature = 1;
};

// One entry for each scored token, in order.
struct TokenScores {
  std::vector<float> log_prob;
  std::vector<float> entropy;
  std::vector<float> value;  // of the value head at the position that predicts the token; empty without one
};

struct ScoreGradients {
  std::vector<float> log_prob;  // d loss / d log_prob, one for each scored token
  std::vector<float> entropy;   // empty: zero
  std::vector<float> value;     // empty: zero
};

struct TrainingOptions {
  bool train_base = true;           // full fine-tuning; false: only adapters and the value head
  bool recompute = false;           // activations of a block are computed again in backward()
  bool value_head = false;          // a linear layer hidden -> 1 for a critic
  std::int64_t logits_chunk = 256;  // rows of logits that exist at a time
  // Besides, forward() may leave so many bytes of logits for backward(), which computes all others again.
  std::int64_t kept_logits_bytes = 32 << 20;
  std::int64_t usable_vocabulary = 0;  // logits beyond it are never considered (padding rows); 0: all
  // Ranks that train the same weights together, each with some of a step's slots and a share of the optimizer's state.
  // It must outlive the trainer. step() and save_state() are collectives then. Null: this process is alone.
  Communicator* ranks = nullptr;
};

struct StepReport {
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  bool skipped = false;  // the gradient was not finite; nothing was changed
};

class Trainer {
 public:
  virtual ~Trainer() = default;
  // Scores without keeping anything for backward().
  virtual Result<TokenScores> score(const PackedBatch& batch) = 0;
  virtual Result<TokenScores> forward(const PackedBatch& batch) = 0;
  // Of the last forward(). Gradients are added to those that are there.
  virtual Result<void> backward(const ScoreGradients& gradients) = 0;
  virtual void clear_gradients() = 0;
  // What was added since the last step or end_slot() is the gradient of one slot (model/distributed/slots.h); slots
  // come in ascending order, and step() adds up those of all ranks. A step without slots needs no call.
  virtual Result<void> end_slot(std::int64_t slot) = 0;
  // The next backward() is the last one before step(): what it completes may already be sent to other ranks. May be
  // left out.
  virtual void last_backward_follows() {}
  // Clips, moves the parameters, clears the gradients. `learning_rate` overrides the options' (schedules).
  virtual Result<StepReport> step(double learning_rate) = 0;

  // Counts up with every step: samples say by which weights they were made.
  virtual std::int64_t weights_version() const = 0;
  // Values as they are now, on the host. Adapters by index.
  virtual Result<void> read_parameters(Parameters& into) = 0;
  virtual Result<Adapter> read_adapter(std::int64_t index) = 0;
  // Everything that the next step depends on: restored, it continues bit for bit.
  virtual Result<void> save_state(const std::string& folder) = 0;
  virtual Result<void> restore_state(const std::string& folder) = 0;
};

}  // namespace kw
