#pragma once
// How many operations a model's products and attention take: what a pass is worth, however it is computed. A
// multiply-add is two. Norms, rotations and the optimizer are not counted, nor what is computed twice to save memory;
// adapters neither: they are a hundredth of their base.

#include "model/decoder/training.h"

namespace kw {

// Of one token that attends to `context` keys, logits included.
double token_flops(const ModelDescription& model, double context);

// Of a batch's scores: logits are those of the scored tokens alone.
double forward_flops(const ModelDescription& model, const PackedBatch& batch);

// Of its scores and gradients. The gradient of a product is two products; of a frozen weight, one.
double training_flops(const ModelDescription& model, const PackedBatch& batch, bool train_base);

}  // namespace kw
