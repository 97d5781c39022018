#pragma once
// The second factor of a product, brought into the form the tiles read: (depth, width) floats.

#include "model/arithmetic/kernels.h"

namespace kw::KW_UNIT {

struct ColumnBlock {
  const float* data = nullptr;
  std::int64_t depth_stride = 0;  // floats between elements of the depth
};

// Elements [first_depth, first_depth + depth) of the columns [first, first + width) of b; all are multiples of their
// unit (16 columns; 32 of the depth for quantised formats, and where the outputs of a packed weight are the depth, 64
// of the depth and 32 columns). `buffer` has room for (depth + 16) * width floats and is used unless the floats lie
// ready.
ColumnBlock fetch_columns(const ProductColumns& b, std::int64_t whole_depth, std::int64_t first_depth,
                          std::int64_t depth, std::int64_t first, std::int64_t width, float* buffer);

}  // namespace kw::KW_UNIT
