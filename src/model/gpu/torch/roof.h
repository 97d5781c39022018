#pragma once
// What the current GPU can do at most, measured.

#include "base/machine_roof.h"

namespace kw {

MachineRoof measure_gpu_roof();

}  // namespace kw
