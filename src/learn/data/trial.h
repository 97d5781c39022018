#pragma once
// How good the writers are: random examples through the real judge, counted by family and level.

#include <map>
#include <string>
#include <vector>

#include "agents/grammar/stream.h"
#include "kernel/judge/judge.h"

namespace kw {

struct TrialOptions {
  StreamOptions stream;
  std::uint64_t first = 0;
  std::uint64_t count = 100;  // tasks; of each, every level
  int workers = 1;
  std::optional<Level> only_level;
  bool house_style = false;
  std::filesystem::path keep;  // where kernels that fail are written, with their task's text; empty: nowhere
  bool show_progress = true;
};

struct TrialRow {
  std::string family;
  std::string level;
  int judged = 0;
  int correct = 0;
  int unsupported = 0;           // says nothing about the kernel
  std::vector<double> speedups;  // over the naive kernel
};

struct TrialFailure {
  std::uint64_t index = 0;
  std::string family;
  std::string level;
  std::string status;
  std::string summary;
};

struct TrialReport {
  std::map<std::pair<std::string, std::string>, TrialRow> rows;  // by family and level
  std::vector<TrialFailure> failures;
  int judged = 0;
  int correct = 0;
  double seconds = 0;
};

TrialReport run_trial(Judge& judge, const TrialOptions& options);

}  // namespace kw
