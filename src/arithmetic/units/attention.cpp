#include "arithmetic/portable_kernels.h"
#include "arithmetic/units/kernels_of_unit.h"

namespace kw::KW_UNIT {
void attend(const AttentionPart& part) { portable::attend(part); }
void attend_gradient(const AttentionGradientPart& part) { portable::attend_gradient(part); }
}  // namespace kw::KW_UNIT
