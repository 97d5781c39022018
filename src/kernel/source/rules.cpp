#include "kernel/source/rules.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "kernel/source/rules_reading.h"

namespace kw {
namespace {

// Where names or strings are made by macros whose definitions combine in unread ways, nothing can be said about them.
void check_combinations(RuleInput& input) {
  if (!input.combinations_unread) return;
  const std::vector<Token>& tokens = input.stream.directive_tokens;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    // A comma makes no name with anything: `printf(format, ##__VA_ARGS__)`.
    if (!token.is("##") || (i > 0 && tokens[i - 1].is(","))) continue;
    input.add(violation_at(input, token, "macro-conditional", Severity::error,
                           "names are pasted together while macros have several conditional definitions",
                           "define each macro once, or do without ##"));
    return;
  }
}

auto order_of(const Violation& violation) {
  const Finding& finding = violation.finding;
  return std::tie(finding.where.line, finding.where.column, finding.rule, finding.message);
}

}  // namespace

std::vector<Violation> find_violations(std::string_view text, std::string_view file, const Policy& policy) {
  RuleInput input = read_for_rules(text, file);
  check_text(input);
  check_directives(input, policy);
  check_combinations(input);
  for (const Reading& reading : input.readings) {
    check_attributes(input, reading);
    check_names(input, reading, policy);
    check_assembly(input, reading, policy);
    check_state(input, reading);
  }
  std::vector<Violation> violations = std::move(input.violations);
  std::stable_sort(violations.begin(), violations.end(),
                   [](const Violation& a, const Violation& b) { return order_of(a) < order_of(b); });
  violations.erase(std::unique(violations.begin(), violations.end(),
                               [](const Violation& a, const Violation& b) { return order_of(a) == order_of(b); }),
                   violations.end());
  return violations;
}

std::vector<Finding> check_rules(std::string_view text, std::string_view file, const Policy& policy) {
  std::vector<Finding> findings;
  std::map<std::pair<std::string, Severity>, std::size_t> count;  // warnings must not crowd out an error
  for (Violation& violation : find_violations(text, file, policy)) {
    Finding& finding = violation.finding;
    if (++count[{finding.rule, finding.severity}] <= max_findings_of_a_rule) findings.push_back(std::move(finding));
  }
  return findings;
}

bool has_error(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::error; });
}

std::string to_string(const Finding& finding) {
  return to_string(finding.where) + ": " + std::string(to_string(finding.severity)) + ": " + finding.message + " [" +
         finding.rule + "]" + (finding.advice.empty() ? "" : " (" + finding.advice + ")");
}

}  // namespace kw
