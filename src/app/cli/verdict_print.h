#pragma once
// A verdict for the terminal: tables of cases, resources and times, where the time goes, findings.

#include "kernel/judge/verdict.h"

namespace kw::cli {

// On standard output.
void print_verdict(const Verdict& verdict);

}  // namespace kw::cli
