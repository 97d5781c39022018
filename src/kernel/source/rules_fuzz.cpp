// Rules, risk, sanitising and pitfalls on arbitrary bytes. Beyond not crashing: findings point into the file,
// sanitising keeps the lines, leaves nothing invisible, and changes nothing the second time.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "kernel/source/pitfalls.h"
#include "kernel/source/risk.h"
#include "kernel/source/rules.h"
#include "kernel/source/sanitise.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto lines = std::count(text.begin(), text.end(), '\n');
  for (const kw::Finding& finding : kw::check_rules(text, "k.cu")) {
    KW_CHECK(finding.where.line >= 1 && finding.where.line <= lines + 1);
    KW_CHECK(!finding.rule.empty() && !finding.message.empty() && !finding.advice.empty());
  }
  for (const kw::Finding& finding : kw::find_pitfalls(text, "k.cu")) {
    KW_CHECK(finding.where.line >= 1 && finding.where.line <= lines + 1);
    KW_CHECK(finding.severity != kw::Severity::error);
  }
  const kw::Risk risk = kw::assess_risk(text, "k.cu");
  KW_CHECK(risk.score >= 0 && risk.score <= 1);
  const std::string clean = kw::sanitise(text);
  KW_CHECK(std::count(clean.begin(), clean.end(), '\n') == lines);
  for (const kw::Finding& finding : kw::check_rules(clean, "k.cu")) {
    KW_CHECK(finding.rule != "hidden-character" && finding.rule != "trigraph" && finding.rule != "digraph");
  }
  KW_CHECK(kw::sanitise(clean) == clean);
  return 0;
}
