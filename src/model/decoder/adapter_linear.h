#pragma once
// What an adapter adds to a linear layer, and its gradient. Rollout and training both call this, so that they agree to
// the last bit: u = A x, u *= scale, y += B u, each a product of linear().

#include <cstdint>

#include "model/arithmetic/linear.h"
#include "model/decoder/adapter.h"
#include "model/decoder/float_buffer.h"

namespace kw {

struct AdapterScratch {
  FloatBuffer low;           // (rows, rank): scale * A x
  FloatBuffer low_gradient;  // (rows, rank)
};

// Does nothing when the adapter has no part in this layer.
void add_adapter(ThreadTeam& team, const Adapter& adapter, std::int64_t layer, Projection projection,
                 const ProjectionShape& shape, const LinearRows& rows, AdapterScratch& scratch);

// gradients: like adapter.values, added to. dy (rows, out) and x (rows, in) are contiguous. dx (rows, in) is added to,
// unless null.
void add_adapter_gradient(ThreadTeam& team, const Adapter& adapter, std::int64_t layer, Projection projection,
                          const ProjectionShape& shape, std::int64_t rows, const float* dy, const float* x, float* dx,
                          float* gradients, AdapterScratch& scratch);

}  // namespace kw
