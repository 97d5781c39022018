#pragma once
// A profile's YAML text with other numbers in it: comments and the order of the lines stay.

#include "kernel/performance/model_errors.h"

namespace kw {

struct ProfileChange {
  std::string key;  // "launch_us", "lanes_per_cycle.fp32"
  double before = 0;
  double after = 0;
};

// The fitted constants and the uncertainty that differ.
std::vector<ProfileChange> changes_of(const DeviceProfile& before, const DeviceProfile& after);

// Where the new numbers come from; the errors are those of held-out tasks.
struct FitNote {
  std::string measured;  // the file's name
  std::string date;
  int folds = 0;
  ModelErrors errors;
};

// Each changed line says in its comment what stood there; the note becomes the block `fitted:` at the end, in place of
// an earlier one.
std::string with_changes(const std::string& yaml, const std::vector<ProfileChange>& changes, const FitNote& note);

// Four digits: "0.6123", "4300", "1235".
std::string number_text(double number);

}  // namespace kw
