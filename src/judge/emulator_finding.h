#pragma once
// What the emulator has found, as a verdict says it.

#include "emulate/finding.h"
#include "judge/verdict.h"

namespace kw {

VerdictFinding verdict_finding(const EmulatorFinding& finding);

}  // namespace kw
