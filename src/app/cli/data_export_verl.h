#pragma once
// `kernelwright data export --for verl`: tasks as rows that VERL's RLHFDataset reads. kernelwright.verl judges what is
// answered; docs/frameworks.md has the commands.

#include <string>

#include "agents/agent/prompt.h"
#include "agents/grammar/stream.h"
#include "base/result.h"

namespace kw::cli {

struct VerlExport {
  std::string folder;                       // a store; empty: tasks are drawn
  std::string kind;                         // only these of a store; empty: all
  StreamOptions stream;                     // where they are drawn
  std::uint64_t first = 0, count = 0;       // which of them
  PromptStyle style = PromptStyle::chatml;  // chatml: messages; compact: one message with the whole prompt
  std::string out;
};

// How many rows were written. Of a store: every task once for the Generator, every kernel that is to be made faster or
// right for the Optimizer.
Result<std::uint64_t> export_for_verl(const VerlExport& wanted);

}  // namespace kw::cli
