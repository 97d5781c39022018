#include "judge/emulator_finding.h"

namespace kw {

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
