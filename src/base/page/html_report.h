#pragma once
// A report as one HTML file that can be sent around: no network, no script, light and dark, readable on a phone. It is
// made from plain data, and every text in it may come from anywhere: kernels and what models say are hostile.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/page/svg_chart.h"

namespace kw {

// A figure that the page begins with: "87.5 %", "correct", "was 61.2 %; p = 0.0003".
struct ReportFigure {
  std::string value;
  std::string name;
  std::string detail;
};

struct ReportCell {
  std::string text;
  std::string detail;                // small, below
  std::optional<double> share;       // draws a bar of this share of 1 ...
  std::optional<Interval> interval;  // ... with its interval
  enum class Tone { plain, good, bad } tone = Tone::plain;
};

struct ReportTable {
  std::string title;
  std::string note;
  std::vector<std::string> headings;
  std::vector<std::vector<ReportCell>> rows;  // the first cell is the row's name
  bool folded = false;                        // shown when it is asked for
};

// What something consists of: bars of parts, one below the other on the same scale.
struct ReportSplit {
  std::string title;
  std::string note;
  struct Part {
    std::string name;
    double value = 0;
    std::string text;  // the value, for people
  };
  std::vector<Part> parts;
};

using ReportFacts = std::vector<std::pair<std::string, std::string>>;

struct ReportTurn {
  std::string agent;   // "generator"
  std::string said;    // beside the kernel; may be empty
  std::string kernel;  // empty: there was none
  std::string status;  // "correct", "race", "no_launcher"
  bool good = false;
  std::string summary;  // of the verdict, one sentence
  std::string speed;    // "2.1 x naive, 14.2 us"
  std::string limiter;  // "dram bandwidth"
  std::vector<std::string> findings;
  std::string given = {};  // the kernel that it was made from; empty: the one before
  ReportFacts facts = {};  // of the verdict, as a small table
};

struct ReportConversation {
  std::string title;    // the task's name
  std::string summary;  // what it asks for
  std::string code;     // its PyTorch text
  std::vector<ReportTurn> turns;
  std::string why = {};  // it is shown: "repaired"
  // Beside the title; empty: how the last turn ended.
  std::string outcome = {};
};

struct HtmlReport {
  std::string kind = {};  // of report, above the title
  std::string title;
  std::string subtitle;
  std::string lead = {};  // the result, in a sentence
  std::vector<ReportFigure> figures;
  std::vector<std::string> missing = {};  // what the page lacks, and why
  std::vector<Curve> curves;
  std::string curves_note = {};
  std::vector<ReportTable> tables;
  std::vector<Distribution> distributions;
  std::vector<ReportConversation> conversations;
  std::string conversations_note = {};
  std::vector<ReportSplit> splits = {};
  std::string configuration;  // YAML or JSON text
  ReportFacts machine;
};

// Parts without content are left out. A kernel after the first is shown as what it changes.
std::string html_report(const HtmlReport& report);

}  // namespace kw
