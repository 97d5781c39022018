#pragma once
// Every kind of product once, in every type, compared with plain sums: what is loaded lazily is in memory then, and an
// instruction that the CPU announces and does not have shows here and not in the middle of a run.

#include "base/result.h"

namespace kw {

Result<void> compute_every_product();

}  // namespace kw
