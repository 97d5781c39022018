#pragma once
// The slow path: plain loops that say what is computed, in which order. The vector units are tested to equal it.

#include "model/arithmetic/kernels.h"

namespace kw::portable {

void product(const ProductPart& part);
void column_sums(std::int64_t rows, std::int64_t columns, const float* x, std::int64_t stride, float* sums);
void attend(const AttentionPart& part);
void attend_gradient(const AttentionGradientPart& part);

// Sixteen partial sums in a fixed tree.
template <class Number>
Number sum_of_lanes(const Number* lanes) {
  Number sums[16];
  for (int i = 0; i < 16; ++i) sums[i] = lanes[i];
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

}  // namespace kw::portable
