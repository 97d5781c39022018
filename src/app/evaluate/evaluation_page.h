#pragma once
// Evaluations as parts of a report: tables, speedups and conversations of base/page/html_report.h.

#include "agents/episode/conversation_page.h"
#include "agents/episode/episode.h"
#include "app/evaluate/paired_comparison.h"
#include "base/page/html_report.h"

namespace kw {

struct EvaluationStage {
  std::string name;  // "after SFT"
  const ModelEvaluation* evaluation = nullptr;
};

// A table for each kind of question and group with a row for each stage, tables by tier and family for the last stage,
// and the distribution of speedups.
void add_evaluations(HtmlReport& report, const std::vector<EvaluationStage>& stages);
void add_comparisons(HtmlReport& report, const std::string& name_a, const std::string& name_b,
                     const std::vector<PairedComparison>& comparisons);

ReportConversation report_conversation(const ExamQuestion& question, const ExamAnswer& answer);

// Which to show, by index: conversations that repaired something, those that gained most, and some that failed.
std::vector<std::size_t> gallery_of(const std::vector<Episode>& episodes, std::size_t most);
std::vector<std::size_t> gallery_of(const std::vector<ExamAnswer>& answers, std::size_t most);

}  // namespace kw
