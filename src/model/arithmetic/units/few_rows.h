#pragma once
// Products of a few rows with a quantised weight, the case of decoding: each weight is used so few times that it is
// expanded in registers and never stored.

#include "model/arithmetic/kernels.h"

namespace kw::KW_UNIT {

// False where the part is not of this kind, or the unit has not the registers for it; nothing is done then.
bool product_of_few_rows(const ProductPart& part);

}  // namespace kw::KW_UNIT
