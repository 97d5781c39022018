#pragma once
// What the emulator says of a run, in the verdict's words.

#include "kernel/judge/emulated_device.h"
#include "kernel/judge/verdict.h"

namespace kw {

VerdictStatus status_of(const PlanRun& run);
VerdictFinding verdict_finding(const EmulatorFinding& finding);

}  // namespace kw
