#pragma once
// What this unit's files offer each other; the table is at the end of rows.cpp.

#include "model/arithmetic/kernels.h"

namespace kw::KW_UNIT {

void product(const ProductPart& part);
void column_sums(std::int64_t rows, std::int64_t columns, const float* x, std::int64_t stride, float* sums);
void attend(const AttentionPart& part);
void attend_gradient(const AttentionGradientPart& part);

}  // namespace kw::KW_UNIT
