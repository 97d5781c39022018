#pragma once
// Muon: a matrix moves along its momentum with all singular values made about equal, so that directions which the
// gradient shows rarely are learned as fast as those it shows always.
// K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024,
// https://kellerjordan.github.io/posts/muon/ The scale that lets AdamW's learning rate serve matrices too: J. Liu et
// al., "Muon is Scalable for LLM Training", 2025, arXiv 2502.16982, section 2.2.

#include <cstdint>
#include <span>
#include <vector>

#include "model/arithmetic/aligned_memory.h"
#include "model/arithmetic/thread_team.h"

namespace kw {

struct MuonStep {
  float learning_rate = 0;  // as for AdamW: an element of the update is 0.2 * learning_rate in the mean of squares
  float momentum = 0.95f;
  bool nesterov = true;
  int iterations = 5;        // of Newton and Schulz
  float weight_decay = 0;    // decoupled: p -= learning_rate * weight_decay * p
  float gradient_scale = 1;  // the gradient is multiplied by it first: clipping, accumulation
};

// A weight (out, in) at `offset` of the flat parameters.
struct MuonMatrix {
  std::int64_t offset = 0;
  std::int64_t out = 0, in = 0;
};

// Grows to what the largest matrix needs, once for each thread, and is used again.
class MuonScratch {
 public:
  struct Room {
    std::vector<float, AlignedMemory<float>> x, next, gram, polynomial;
  };

 private:
  friend void muon(ThreadTeam&, const MuonStep&, std::span<const MuonMatrix>, std::span<float>, std::span<const float>,
                   std::span<float>, MuonScratch&);
  std::vector<Room> rooms_;
};

// torch.optim.Muon with adjust_lr_fn="match_rms_adamw", in float32 throughout. Spans are whole flat buffers of one
// length; elements outside the matrices are left alone. A matrix is one thread's work, so results do not depend on how
// many there are.
void muon(ThreadTeam& team, const MuonStep& step, std::span<const MuonMatrix> matrices, std::span<float> parameters,
          std::span<const float> gradients, std::span<float> momentum, MuonScratch& scratch);

}  // namespace kw
