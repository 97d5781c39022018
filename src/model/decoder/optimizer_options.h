#pragma once
// How gradients move weights.

#include <string_view>

#include "base/result.h"

namespace kw {

enum class OptimizerKind {
  adamw,
  // Muon (model/arithmetic/muon.h) for the weights of the base's linear layers; AdamW for embeddings, norms, biases,
  // adapters and the value head. One learning rate serves both.
  muon,
};
std::string_view to_string(OptimizerKind kind);  // "adamw", "muon"
Result<OptimizerKind> optimizer_kind(std::string_view name);

struct MuonOptions {
  double rate_scale = 1;  // on the learning rate
  double momentum = 0.95;
  bool nesterov = true;
  int iterations = 5;  // of Newton and Schulz
};

struct OptimizerOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weight_decay = 0;
  double clip_norm = 1;    // of the gradient over everything trainable; 0: never
  bool eight_bit = false;  // moments in 8 bits, blockwise; AdamW only
  OptimizerKind kind = OptimizerKind::adamw;
  MuonOptions muon = {};
};

Result<void> check_optimizer(const OptimizerOptions& options);

}  // namespace kw
