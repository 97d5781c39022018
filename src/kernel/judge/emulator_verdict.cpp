#include "kernel/judge/emulator_verdict.h"

#include <algorithm>

namespace kw {

VerdictStatus status_of(const PlanRun& run) {
  switch (run.status) {
    case RunStatus::ok:
      return VerdictStatus::correct;
    case RunStatus::race:
      return VerdictStatus::race;
    case RunStatus::timeout:
      return VerdictStatus::timeout;
    case RunStatus::unsupported:
      return VerdictStatus::unsupported;
    case RunStatus::rejected:
      return VerdictStatus::rejected;
    case RunStatus::launch_error:
      return VerdictStatus::launcher_error;
    case RunStatus::synchronization: {
      // On a GPU a deadlock is a kernel that never ends.
      const bool deadlock = std::any_of(run.findings.begin(), run.findings.end(), [](const EmulatorFinding& finding) {
        return finding.kind == FindingKind::barrier_deadlock;
      });
      return deadlock ? VerdictStatus::timeout : VerdictStatus::fault;
    }
    case RunStatus::fault:
    case RunStatus::uninitialised:
      return VerdictStatus::fault;
  }
  return VerdictStatus::internal_error;
}

VerdictFinding verdict_finding(const EmulatorFinding& finding) {
  VerdictFinding made;
  made.kind = name_of(finding.kind);
  made.severity = is_note(finding.kind) ? Severity::note : Severity::error;
  made.line = static_cast<int>(finding.line);
  made.column = static_cast<int>(finding.column);
  made.message = finding.message;
  made.advice = finding.advice.empty() ? std::string(advice_for(finding.kind)) : finding.advice;
  made.kernel = finding.kernel;
  made.occurrences = finding.occurrences;
  return made;
}

}  // namespace kw
