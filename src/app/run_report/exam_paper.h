#pragma once
// What supervised training's exams leave: a line of JSON for each answer, with the whole text.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/evaluate/evaluation.h"
#include "base/page/html_report.h"

namespace kw {

struct PaperAnswer {
  QuestionKind kind = QuestionKind::generate;
  std::string family, question;  // the task's signature and operation
  std::string given, given_verdict;
  std::string text;     // as the model said it
  std::string outcome;  // of reading it
  std::optional<VerdictStatus> status;
  std::string summary;
  std::optional<double> speedup;

  bool correct() const { return status == VerdictStatus::correct; }
};

// Of anything; lines that are none of ours are left out. At most 4,000 answers are read.
Result<std::vector<PaperAnswer>> read_exam_paper(const std::filesystem::path& file);

ReportConversation report_conversation(const PaperAnswer& answer);

}  // namespace kw
