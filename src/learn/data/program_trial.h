#pragma once
// How good drawn programs are (agents/draw): are they understood, has the library a kernel for them, does the judge
// find it right? Counted by family.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "agents/draw/draw_program.h"
#include "base/result.h"
#include "kernel/judge/judge.h"

namespace kw {

struct ProgramTrialOptions {
  programs::DrawOptions stream;
  std::uint64_t first = 0;
  std::uint64_t count = 100;
  int workers = 1;
  std::filesystem::path out;  // tasks (YAML) and kernels; empty: nowhere
  bool show_progress = true;
};

struct ProgramRow {
  std::uint64_t drawn = 0, understood = 0, written = 0, judged = 0, right = 0, unsupported = 0;
};

struct ProgramFailure {
  std::uint64_t index = 0;
  std::string family;  // of its first stage
  std::string what;    // status and summary, or the error
  std::string pytorch;
};

struct ProgramReport {
  ProgramRow all;
  // A program counts for each family of its stages.
  std::map<std::string, ProgramRow> rows;
  std::vector<ProgramFailure> failures;
  std::uint64_t stages = 0;
  double draw_seconds = 0, read_seconds = 0, write_seconds = 0;  // of all workers together
  double seconds = 0;
};

// judge: null where kernels are only written.
Result<ProgramReport> try_programs(Judge* judge, const ProgramTrialOptions& options);

}  // namespace kw
