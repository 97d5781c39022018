#pragma once
// Static rules: what a submitted kernel file must not contain, found by reading its text. A rule sees the file as the
// compiler would: continuations joined, macros expanded, string literals decoded. It reads every branch of every #if,
// because it does not know which one a compiler would take, so a forbidden construct in a disabled branch counts too.
//
// The rules are the first fence, not the only one: the compiler runs in a sandbox, the launcher is interpreted and
// never executed, and the emulator checks what the device code does. They do not judge whether a kernel is correct.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/severity.h"

namespace kw {

struct Finding {
  std::string rule;  // a stable name: "device-printf"
  Severity severity = Severity::error;
  Position where;
  std::string message;  // what was seen, one sentence
  std::string advice;   // what to write instead

  friend bool operator==(const Finding&, const Finding&) = default;
};

std::string to_string(const Finding& finding);

std::vector<std::string> default_allowed_headers();

struct Policy {
  bool allow_printf = false;
  bool allow_device_malloc = false;
  bool allow_assert = false;
  bool allow_inline_ptx = true;  // what it may contain is still checked
  // Names as they stand between <> or ""; a final * stands for any rest: "cuda/std/*".
  std::vector<std::string> allowed_headers = default_allowed_headers();
};

inline constexpr std::size_t max_findings_of_a_rule = 20;

// Every forbidden construct in order of position; an error means that the kernel is rejected, a warning goes into the
// risk score. At most max_findings_of_a_rule of each rule, so a hostile file cannot flood a report. Linear time.
std::vector<Finding> check_rules(std::string_view text, std::string_view file, const Policy& policy = {});

bool has_error(const std::vector<Finding>& findings);

}  // namespace kw
