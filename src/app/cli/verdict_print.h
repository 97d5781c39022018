#pragma once
// A verdict for the terminal: tables of cases, resources and times, where the time goes, findings.

#include "kernel/judge/baseline.h"

namespace kw::cli {

// On standard output. `naive`: what the task's naive kernel is called, see naive_baseline().
void print_verdict(const Verdict& verdict, Baseline naive = Baseline::naive);

}  // namespace kw::cli
