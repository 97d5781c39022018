#pragma once
// `kernelwright data export`: a store's examples for other frameworks, as they are or as prompts and answers.

#include <optional>
#include <string>

#include "agents/agent/prompt.h"
#include "base/result.h"

namespace kw::cli {

enum class ExportFormat : std::uint8_t { jsonl, parquet };

struct ExportOptions {
  std::string folder;
  std::string kind;  // only these; empty: all
  ExportFormat format = ExportFormat::jsonl;
  std::optional<PromptStyle> style;  // also the prompt and the answer in this style
  std::string out;                   // empty: standard output, JSON lines only
};

// How many examples were written.
Result<std::uint64_t> export_store(const ExportOptions& options);

}  // namespace kw::cli
