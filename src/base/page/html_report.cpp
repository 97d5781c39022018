#include "base/page/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/page/html_style.h"
#include "base/page/html_text.h"
#include "base/page/line_diff.h"

namespace kw {
namespace {

// Bounds on what one page shows, so that it stays a page.
constexpr std::size_t most_kernel_bytes = std::size_t{64} << 10;
constexpr std::size_t most_said_bytes = 2000;
constexpr std::size_t most_line_bytes = 600;
constexpr std::size_t most_configuration_bytes = std::size_t{64} << 10;
constexpr std::size_t most_findings = 8;
constexpr int context_lines = 3;

class Page {
 public:
  explicit Page(const HtmlReport& report) : report_(report) {}

  std::string write() {
    head();
    figures();
    missing();
    bool first = true;
    for (const ReportTable& one : report_.tables)
      if (!one.folded) table(one, std::exchange(first, false) ? "results" : "");
    curves();
    distributions();
    folded_tables();
    conversations();
    splits();
    circumstances();
    out_ += "</main>\n</body>\n</html>\n";
    return std::move(out_);
  }

 private:
  static std::string safe(std::string_view text) { return html_escaped(text); }
  static std::string line(std::string_view text) { return html_escaped(cut_text(text, most_line_bytes)); }

  void head() {
    // Nothing is loaded and nothing runs, whatever slipped into a text.
    out_ += fmt::format(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n",
        line(report_.title), html_style);
    if (!report_.kind.empty()) out_ += fmt::format("<p class=\"kind\">{}</p>\n", line(report_.kind));
    out_ += fmt::format("<h1>{}</h1>\n", line(report_.title));
    if (!report_.subtitle.empty()) out_ += fmt::format("<p class=\"soft\">{}</p>\n", line(report_.subtitle));
    if (!report_.lead.empty()) out_ += fmt::format("<p class=\"lead\">{}</p>\n", line(report_.lead));
    std::string links;
    const auto link = [&](const char* id, const char* name, bool there) {
      if (there) links += fmt::format("<a href=\"#{}\">{}</a>", id, name);
    };
    const auto folded = [](const ReportTable& table) { return table.folded; };
    const auto& tables = report_.tables;
    link("results", "Results", !std::all_of(tables.begin(), tables.end(), folded));
    link("curves", "Learning curves", !report_.curves.empty());
    link("speedups", "Speedups", !report_.distributions.empty());
    link("details", "More tables", std::any_of(tables.begin(), tables.end(), folded));
    link("conversations", "Conversations", !report_.conversations.empty());
    link("time", "Time", !report_.splits.empty());
    link("circumstances", "Configuration and machine", !report_.configuration.empty() || !report_.machine.empty());
    if (!links.empty()) out_ += "<nav>" + links + "</nav>\n";
  }

  void figures() {
    if (report_.figures.empty()) return;
    out_ += "<section class=\"figures\">\n";
    for (const ReportFigure& figure : report_.figures)
      out_ += fmt::format(
          "<div class=\"card figure\"><div class=\"value\">{}</div><div class=\"name\">{}</div>"
          "<div class=\"soft small\">{}</div></div>\n",
          line(figure.value), line(figure.name), line(figure.detail));
    out_ += "</section>\n";
  }

  void missing() {
    if (report_.missing.empty()) return;
    out_ += "<section class=\"card missing\"><h3>What is missing</h3><ul class=\"small\">";
    for (const std::string& one : report_.missing) out_ += "<li>" + line(one) + "</li>";
    out_ += "</ul></section>\n";
  }

  void curves() {
    if (report_.curves.empty()) return;
    out_ += "<h2 id=\"curves\">Learning curves</h2>\n";
    if (!report_.curves_note.empty())
      out_ += fmt::format("<p class=\"soft small note\">{}</p>\n", line(report_.curves_note));
    out_ += "<section class=\"cards\">\n";
    for (const Curve& curve : report_.curves) {
      const std::string drawing = curve_svg(curve);
      if (drawing.empty()) continue;
      out_ += fmt::format("<figure class=\"card\"><h3>{}</h3>", line(curve.title));
      if (curve.series.size() > 1) {
        out_ += "<div class=\"legend\">";
        for (std::size_t i = 0; i < std::min(curve.series.size(), most_series); ++i)
          out_ += fmt::format("<span class=\"series-{}\">{}</span>", i + 1, line(curve.series[i].name));
        out_ += "</div>";
      }
      out_ += drawing;
      if (!curve.note.empty())
        out_ += fmt::format("<figcaption class=\"soft small\">{}</figcaption>", line(curve.note));
      out_ += "</figure>\n";
    }
    out_ += "</section>\n";
  }

  void table(const ReportTable& table, const char* id) {
    out_ += fmt::format("<h2{}>{}</h2>\n", *id == '\0' ? "" : fmt::format(" id=\"{}\"", id), line(table.title));
    out_ += "<div class=\"card scroll\">";
    cells(table);
    out_ += "</div>\n";
    if (!table.note.empty()) out_ += fmt::format("<p class=\"soft small note\">{}</p>\n", line(table.note));
  }

  void folded_tables() {
    bool first = true;
    for (const ReportTable& table : report_.tables) {
      if (!table.folded) continue;
      if (std::exchange(first, false)) out_ += "<h2 id=\"details\">More tables</h2>\n";
      out_ +=
          fmt::format("<details><summary>{}</summary><div class=\"inside\"><div class=\"scroll\">", line(table.title));
      cells(table);
      out_ += "</div>";
      if (!table.note.empty()) out_ += fmt::format("<p class=\"soft small note\">{}</p>", line(table.note));
      out_ += "</div></details>\n";
    }
  }

  void cells(const ReportTable& table) {
    out_ += "<table>\n<tr>";
    for (const std::string& heading : table.headings) out_ += "<th>" + line(heading) + "</th>";
    out_ += "</tr>\n";
    for (const auto& row : table.rows) {
      out_ += "<tr>";
      for (const ReportCell& one : row) cell(one);
      out_ += "</tr>\n";
    }
    out_ += "</table>";
  }

  void cell(const ReportCell& cell) {
    const char* tone = cell.tone == ReportCell::Tone::good  ? " class=\"good\""
                       : cell.tone == ReportCell::Tone::bad ? " class=\"bad\""
                                                            : "";
    out_ += fmt::format("<td{}>{}", tone, line(cell.text));
    if (!cell.detail.empty()) out_ += fmt::format("<span class=\"detail\">{}</span>", line(cell.detail));
    if (cell.share && std::isfinite(*cell.share)) {
      const auto place = [](double share) { return 100 * std::clamp(share, 0.0, 1.0); };
      out_ += fmt::format(
          "<svg class=\"meter\" viewBox=\"0 0 100 7\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
          "<rect class=\"track\" width=\"100\" height=\"7\" rx=\"1\"/><rect class=\"fill\" width=\"{:.1f}\" "
          "height=\"7\" "
          "rx=\"1\"/>",
          place(*cell.share));
      if (cell.interval)
        out_ += fmt::format("<line class=\"whisker\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"3.5\" y2=\"3.5\"/>",
                            place(cell.interval->low), place(cell.interval->high));
      out_ += "</svg>";
    }
    out_ += "</td>";
  }

  void distributions() {
    if (report_.distributions.empty()) return;
    out_ += "<h2 id=\"speedups\">Speedups</h2>\n<section class=\"cards wide\">\n";
    for (const Distribution& distribution : report_.distributions) {
      const std::string drawing = distribution_svg(distribution);
      if (drawing.empty()) continue;
      out_ += fmt::format("<figure class=\"card\"><h3>{}</h3>{}", line(distribution.title), drawing);
      if (!distribution.note.empty())
        out_ += fmt::format("<figcaption class=\"soft small\">{}</figcaption>", line(distribution.note));
      out_ += "</figure>\n";
    }
    out_ += "</section>\n";
  }

  void conversations() {
    if (report_.conversations.empty()) return;
    out_ += "<h2 id=\"conversations\">Conversations</h2>\n";
    if (!report_.conversations_note.empty())
      out_ += fmt::format("<p class=\"soft small note\">{}</p>\n", line(report_.conversations_note));
    bool first = true;
    for (const ReportConversation& conversation : report_.conversations) {
      std::string outcome = line(conversation.outcome);
      if (outcome.empty() && !conversation.turns.empty()) {
        const ReportTurn& last = conversation.turns.back();
        outcome = line(last.status) + (last.speed.empty() ? "" : ", " + line(last.speed));
      }
      out_ += fmt::format(
          "<details{}><summary>{}{} <span class=\"soft\">{} turn{}, {}</span></summary><div class=\"inside\">",
          first ? " open" : "",
          conversation.why.empty() ? "" : fmt::format("<span class=\"why\">{}</span>", line(conversation.why)),
          line(conversation.title), conversation.turns.size(), conversation.turns.size() == 1 ? "" : "s", outcome);
      first = false;
      if (!conversation.summary.empty()) out_ += fmt::format("<p>{}</p>", line(conversation.summary));
      if (!conversation.code.empty())
        out_ += fmt::format("<pre>{}</pre>", safe(cut_text(conversation.code, most_kernel_bytes)));
      std::string before;
      for (std::size_t i = 0; i < conversation.turns.size(); ++i) turn(i, conversation.turns[i], before);
      out_ += "</div></details>\n";
    }
  }

  void turn(std::size_t index, const ReportTurn& turn, std::string& before) {
    out_ += fmt::format(
        "<section class=\"turn\"><header><strong>{}. {}</strong><span class=\"status {}\">{}</span><span>{}</span>"
        "<span class=\"soft\">{}</span></header>",
        index + 1, line(turn.agent), turn.good ? "good" : "bad", line(turn.status), line(turn.speed),
        turn.limiter.empty() ? "" : "limited by " + line(turn.limiter));
    if (!turn.said.empty())
      out_ += fmt::format("<p class=\"quote\">{}</p>", safe(cut_text(turn.said, most_said_bytes)));
    if (!turn.kernel.empty()) {
      const std::string kernel = cut_text(turn.kernel, most_kernel_bytes);
      if (!turn.given.empty()) before = cut_text(turn.given, most_kernel_bytes);
      if (before.empty())
        whole(kernel);
      else
        changes(before, kernel);
      before = kernel;
    }
    if (!turn.summary.empty()) out_ += fmt::format("<p>{}</p>", line(turn.summary));
    facts(turn.facts);
    if (!turn.findings.empty()) {
      out_ += "<ul class=\"small\">";
      for (std::size_t i = 0; i < std::min(turn.findings.size(), most_findings); ++i)
        out_ += "<li>" + line(turn.findings[i]) + "</li>";
      if (turn.findings.size() > most_findings)
        out_ += fmt::format("<li class=\"soft\">and {} more</li>", turn.findings.size() - most_findings);
      out_ += "</ul>";
    }
    out_ += "</section>\n";
  }

  void whole(const std::string& kernel) {
    out_ += "<div class=\"code\">";
    int number = 0;
    for (const std::string_view text : lines_of(kernel))
      out_ += fmt::format("<div><i>{}</i>{}</div>", ++number, safe(text));
    out_ += "</div>";
  }

  void changes(const std::string& before, const std::string& after) {
    const std::vector<DiffLine> lines = line_diff(before, after);
    // Lines that are within a few lines of a change.
    std::vector<bool> shown(lines.size(), false);
    bool any = false;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].kind == DiffLine::Kind::same) continue;
      any = true;
      const std::size_t from = i > context_lines ? i - context_lines : 0;
      for (std::size_t n = from; n <= std::min(lines.size() - 1, i + context_lines); ++n) shown[n] = true;
    }
    if (!any) {
      out_ += "<p class=\"soft\">The same kernel again.</p>";
      return;
    }
    out_ += "<div class=\"code\">";
    std::size_t hidden = 0;
    const auto gap = [&] {
      if (hidden > 0)
        out_ += fmt::format("<div class=\"gap\"><i></i>{} as before</div>",
                            hidden == 1 ? "1 line" : fmt::format("{} lines", hidden));
      hidden = 0;
    };
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!shown[i]) {
        ++hidden;
        continue;
      }
      gap();
      const DiffLine& one = lines[i];
      const bool added = one.kind == DiffLine::Kind::added, removed = one.kind == DiffLine::Kind::removed;
      out_ += fmt::format("<div{}><i>{}</i>{} {}</div>",
                          added     ? " class=\"added\""
                          : removed ? " class=\"removed\""
                                    : "",
                          removed ? one.before : one.after,
                          added     ? "+"
                          : removed ? "-"
                                    : " ",
                          safe(one.text));
    }
    gap();
    out_ += "</div>";
  }

  void facts(const ReportFacts& facts) {
    if (facts.empty()) return;
    out_ += "<dl class=\"small\">";
    for (const auto& [name, value] : facts) out_ += fmt::format("<dt>{}</dt><dd>{}</dd>", line(name), line(value));
    out_ += "</dl>\n";
  }

  void splits() {
    if (report_.splits.empty()) return;
    out_ += "<h2 id=\"time\">Time</h2>\n<section class=\"cards wide\">\n";
    for (const ReportSplit& split : report_.splits) {
      double all = 0;
      const auto size_of = [](const ReportSplit::Part& part) {
        return std::isfinite(part.value) && part.value > 0 ? part.value : 0;
      };
      for (const auto& part : split.parts) all += size_of(part);
      out_ += fmt::format(
          "<figure class=\"card\"><h3>{}</h3><svg class=\"split\" viewBox=\"0 0 100 10\" "
          "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">",
          line(split.title), line(split.title));
      double at = 0;
      for (std::size_t i = 0; i < split.parts.size(); ++i) {
        const double share = all > 0 && std::isfinite(all) ? 100 * size_of(split.parts[i]) / all : 0;
        out_ += fmt::format("<rect class=\"bar series-{}\" x=\"{:.2f}\" width=\"{:.2f}\" height=\"10\"/>",
                            i % most_series + 1, at, std::max(0.0, share - 0.3));
        at += share;
      }
      out_ += "</svg><div class=\"parts small\">";
      for (std::size_t i = 0; i < split.parts.size(); ++i)
        out_ += fmt::format("<div class=\"series-{}\"><span>{}</span><span>{}</span></div>", i % most_series + 1,
                            line(split.parts[i].name), line(split.parts[i].text));
      out_ += "</div>";
      if (!split.note.empty())
        out_ += fmt::format("<figcaption class=\"soft small\">{}</figcaption>", line(split.note));
      out_ += "</figure>\n";
    }
    out_ += "</section>\n";
  }

  void circumstances() {
    if (report_.configuration.empty() && report_.machine.empty()) return;
    out_ += "<h2 id=\"circumstances\">Configuration and machine</h2>\n";
    if (!report_.machine.empty()) {
      out_ += "<div class=\"card\"><dl>";
      for (const auto& [name, value] : report_.machine)
        out_ += fmt::format("<dt>{}</dt><dd>{}</dd>", line(name), line(value));
      out_ += "</dl></div>\n";
    }
    if (!report_.configuration.empty())
      out_ += fmt::format(
          "<details class=\"configuration\"><summary>Configuration</summary><div "
          "class=\"inside\"><pre>{}</pre></div></details>\n",
          safe(cut_text(report_.configuration, most_configuration_bytes)));
  }

  const HtmlReport& report_;
  std::string out_;
};

}  // namespace

std::string html_report(const HtmlReport& report) { return Page(report).write(); }

}  // namespace kw
