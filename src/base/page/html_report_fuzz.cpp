// Whatever the text: the page has the same tags as with an empty one, and is UTF-8.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/page/html_report.h"
#include "base/page/html_text.h"

namespace {

std::string tags_of(const std::string& page) {
  std::string tags;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1))
    tags += page.substr(at, page.find_first_of(" >", at) - at);
  return tags;
}

kw::HtmlReport report_of(const std::string& text) {
  kw::HtmlReport report;
  report.kind = report.title = report.subtitle = report.lead = report.curves_note = report.conversations_note = text;
  report.missing = {text};
  report.figures = {{text, text, text}};
  report.curves = {{text, text, text, true, {{text, {{0, 0.1, kw::Interval{0, 0.2}}, {1, 0.5, {}}}}, {text, {}}}}};
  report.curves[0].marks = {{0.5, "mark"}};
  report.tables = {{text, "", {text}, {{{text, "", 0.5, kw::Interval{0.4, 0.6}, kw::ReportCell::Tone::good}}}}};
  report.tables.push_back(report.tables.front());
  report.tables.back().folded = true;
  report.splits = {{text, "n", {{text, 1, text}, {text, 3, text}}}};
  report.distributions = {{text, "", {{text, {1, 2}}}}};
  report.conversations = {{text, "s", "c", {{text, "s", "int x;\n", text, true, "s", text, text, {text}}}}};
  report.conversations[0].why = report.conversations[0].outcome = text;
  report.configuration = "c";
  report.machine = {{text, text}};
  return report;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string wanted = tags_of(kw::html_report(report_of("x")));
  const std::string text(reinterpret_cast<const char*>(data), size);
  KW_CHECK(tags_of(kw::html_report(report_of(text + "x"))) == wanted);
  const std::string escaped = kw::html_escaped(text);
  KW_CHECK(escaped.find_first_of("<>\"'") == std::string::npos);
  KW_CHECK(kw::cut_text(text, 10).size() <= 13);
  // What kernels look like as changes from one to the next.
  kw::HtmlReport changed;
  const std::size_t half = text.size() / 2;
  changed.conversations = {{"", "", "", {}}};
  for (const std::string& kernel : {text.substr(0, half), text.substr(half)}) {
    kw::ReportTurn turn;
    turn.kernel = kernel;
    changed.conversations[0].turns.push_back(turn);
  }
  (void)kw::html_report(changed);
  return 0;
}
