#include "base/page/html_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/page/html_text.h"
#include "base/page/line_diff.h"

namespace kw {
namespace {

const std::string hostile =
    "</title></style></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&amp; ]]> \xff\xfe \xc0\xaf "
    "\xe2\x80\xae reversed \xe2\x80\x8b <!-- {{x}} ";

HtmlReport full_report(const std::string& text) {
  HtmlReport report;
  report.title = text + "Tiny after reinforcement learning";
  report.subtitle = text + "three seeds";
  report.figures = {{text, text, text}, {"87.5 %", "correct", "was 61.2 %; p = 0.0003"}};
  Curve curve;
  curve.title = text + "Correct";
  curve.x_name = text;
  curve.note = text;
  curve.share = true;
  for (int series = 0; series < 2; ++series) {
    curve.series.push_back({text + std::to_string(series), {}});
    for (int i = 0; i <= 8; ++i) {
      const double y = 0.3 + 0.07 * i * (1 + series * 0.1);
      curve.series.back().points.push_back({i * 50.0, y, Interval{y - 0.06, std::min(1.0, y + 0.06)}});
    }
  }
  report.curves = {curve};
  ReportTable table;
  table.title = text;
  table.note = text;
  table.headings = {text, "compiled", text};
  table.rows = {{{text, text, std::nullopt, std::nullopt, ReportCell::Tone::plain},
                 {text, text, 0.9, Interval{0.8, 0.95}, ReportCell::Tone::good},
                 {text, "", std::nullopt, std::nullopt, ReportCell::Tone::bad}}};
  report.tables = {table};
  report.distributions = {{text, text, {{text, {0.5, 1, 1.1, 2, 2.2, 7}}, {text, {1, 1.5}}}}};
  const std::string kernel = "__global__ void k(float* x) {\n  x[0] = 1;  // " + text + "\n}\n";
  report.conversations = {{text,
                           text,
                           text,
                           {{text, text, kernel, text, false, text, text, text, {text}},
                            {text, text, kernel + "// more\n", text, true, text, text, text, {}},
                            {text, text, "", text, false, text, "", "", std::vector<std::string>(20, text)}}}};
  report.conversations[0].why = report.conversations[0].outcome = text;
  report.kind = report.lead = report.curves_note = report.conversations_note = text;
  report.missing = {text};
  report.curves[0].marks = {{100, text}, {101, text}, {400, "the end"}, {1e9, "elsewhere"}, {NAN, "nowhere"}};
  report.curves[0].series[1].noisy = true;
  report.tables.push_back(table);
  report.tables.back().folded = true;
  report.splits = {{text, text, {{text, 1, text}, {text, NAN, text}, {text, -1, text}}}, {text, "", {}}};
  report.configuration = text;
  report.machine = {{text, text}};
  return report;
}

// Every `<` begins a tag that we write ourselves, and every tag's attributes are ours.
void expect_only_our_tags(const std::string& page) {
  const std::vector<std::string> known{"!doctype", "html",  "head",    "meta",       "title",   "style",  "body",
                                       "main",     "h1",    "h2",      "h3",         "p",       "nav",    "a",
                                       "section",  "div",   "figure",  "figcaption", "span",    "svg",    "line",
                                       "text",     "tspan", "polygon", "polyline",   "circle",  "rect",   "table",
                                       "tr",       "th",    "td",      "details",    "summary", "strong", "header",
                                       "ul",       "li",    "pre",     "i",          "dl",      "dt",     "dd"};
  const std::size_t style = page.find("<style>"), style_end = page.find("</style>");
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    if (at > style && at < style_end) continue;
    std::size_t name = at + 1;
    if (page[name] == '/') ++name;
    const std::string tag = page.substr(name, page.find_first_of(" >/", name) - name);
    ASSERT_NE(std::find(known.begin(), known.end(), tag), known.end()) << page.substr(at, 80);
    const std::string whole = page.substr(at, page.find('>', at) - at);
    std::string names;  // of the attributes: what stands outside of quotes
    bool quoted = false;
    for (const char c : whole) {
      if (c == '"') quoted = !quoted;
      if (!quoted) names += c;
    }
    ASSERT_FALSE(quoted) << whole;
    ASSERT_EQ(names.find(" on"), std::string::npos) << whole;
    ASSERT_EQ(names.find("src="), std::string::npos) << whole;
    if (tag == "a" && page[at + 1] != '/') {
      ASSERT_EQ(whole.rfind("<a href=\"#", 0), 0u) << whole;
    }
  }
}

TEST(HtmlText, EscapesAndShowsWhatIsHidden) {
  EXPECT_EQ(html_escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(html_escaped("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(html_escaped("\xff"), "\xEF\xBF\xBD");
  EXPECT_EQ(html_escaped("\xc0\xbc"), "\xEF\xBF\xBD\xEF\xBF\xBD");       // an overlong <
  EXPECT_EQ(html_escaped("\xed\xa0\x80").substr(0, 3), "\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(html_escaped("\xe2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");       // cut short
  EXPECT_EQ(html_escaped("a\xe2\x80\xae"
                         "b"),
            "a[U+202E]b");
  EXPECT_EQ(html_escaped(std::string("a\0b\x1b", 4)), "a[U+0000]b[U+001B]");
  EXPECT_EQ(html_escaped("a\r\n\tb"), "a\n\tb");
  EXPECT_EQ(cut_text("\xc3\xa9\xc3\xa9", 3), "\xc3\xa9...");
  EXPECT_EQ(cut_text("abc", 3), "abc");
}

TEST(LineDiff, KeepsWhatIsCommon) {
  const auto kinds = [](const char* before, const char* after) {
    std::string out;
    for (const DiffLine& line : line_diff(before, after))
      out += (line.kind == DiffLine::Kind::same ? " " : line.kind == DiffLine::Kind::added ? "+" : "-") + line.text;
    return out;
  };
  EXPECT_EQ(kinds("a\nb\nc\n", "a\nx\nc\n"), " a-b+x c");
  EXPECT_EQ(kinds("", "a\n"), "+a");
  EXPECT_EQ(kinds("a\nb\n", ""), "-a-b");
  EXPECT_EQ(kinds("a\nb\nc\nd\n", "b\nd\ne\n"), "-a b-c d+e");
  EXPECT_EQ(kinds("a\nb\n", "a\nb\n"), " a b");
  const auto lines = line_diff("a\nb\n", "b\nc\n");
  EXPECT_EQ(lines[1].before, 2);
  EXPECT_EQ(lines[1].after, 1);
  std::string long_text, other;
  for (int i = 0; i < 5000; ++i) {
    long_text += std::to_string(i) + "\n";
    other += std::to_string(-i) + "\n";
  }
  EXPECT_EQ(line_diff(long_text, other).size(), 9999u);  // the first line is the same
}

TEST(SvgChart, TicksAreRoundAndNumbersShort) {
  EXPECT_EQ(round_ticks(0, 1, 4).size(), 6u);  // by fifths
  EXPECT_EQ(round_ticks(0, 400, 5), (std::vector<double>{0, 100, 200, 300, 400}));
  EXPECT_TRUE(round_ticks(1, 1, 4).empty());
  EXPECT_TRUE(round_ticks(0, INFINITY, 4).empty());
  EXPECT_EQ(axis_number(0.05), "0.05");
  EXPECT_EQ(axis_number(12345), "12.3k");
  EXPECT_EQ(axis_number(3.2e7), "32M");
  EXPECT_EQ(axis_number(-0.00003), "-3e-05");
}

TEST(SvgChart, LogarithmicAxesHaveTheirTicks) {
  EXPECT_EQ(decade_ticks(0.04, 3), (std::vector<double>{0.1, 1}));
  EXPECT_EQ(decade_ticks(0.9, 6).size(), 3u);  // 1, 2, 5
  EXPECT_TRUE(decade_ticks(0, 1).empty());
  EXPECT_TRUE(decade_ticks(1, INFINITY).empty());
  EXPECT_LE(decade_ticks(1e-300, 1e300).size(), 50u);
  Curve curve;
  curve.logarithmic = true;
  curve.series = {{"a", {{0, 0, {}}, {1, -1, {}}}}};
  EXPECT_EQ(curve_svg(curve), "") << "nothing has a logarithm";
  curve.series[0].points = {{0, 1e-300, {}}, {1, 1e300, Interval{-1, 2}}, {2, 1, Interval{0.5, 2}}};
  const std::string drawing = curve_svg(curve);
  EXPECT_EQ(drawing.find("nan"), std::string::npos);
  EXPECT_EQ(drawing.find("inf"), std::string::npos);
}

TEST(SvgChart, NoisyPointsAreFaintBehindASmoothLine) {
  Curve curve;
  curve.series = {{"a", {}, true}};
  for (int i = 0; i < 20; ++i)
    curve.series[0].points.push_back({i * 1.0, i + (i % 2 == 0 ? 1.0 : -1.0), Interval{i - 2.0, i + 2.0}});
  const std::string drawing = curve_svg(curve);
  EXPECT_NE(drawing.find("class=\"faint"), std::string::npos);
  EXPECT_NE(drawing.find("class=\"band"), std::string::npos);
  EXPECT_EQ(drawing.find("class=\"dot"), std::string::npos);
  // A straight line with noise comes out about straight: the ends too.
  const std::size_t line = drawing.find("class=\"line"), from = drawing.find("points=\"", line) + 8;
  std::istringstream numbers(drawing.substr(from, drawing.find('"', from) - from));
  std::vector<double> heights;
  char comma = 0;
  for (double x = 0, y = 0; numbers >> x >> comma >> y;) heights.push_back(y);
  ASSERT_EQ(heights.size(), 20u);
  for (std::size_t i = 1; i < heights.size(); ++i) EXPECT_LT(heights[i], heights[i - 1] + 1) << i;
  for (CurvePoint& point : curve.series[0].points) point.y *= 1e300;
  EXPECT_EQ(curve_svg(curve).find("nan"), std::string::npos);
}

TEST(SvgChart, DrawsWhateverNumbersCome) {
  Curve curve;
  EXPECT_EQ(curve_svg(curve), "");
  curve.series = {{"a", {{0, NAN, {}}, {INFINITY, 1, {}}}}};
  EXPECT_EQ(curve_svg(curve), "");
  curve.series = {{"a", {{1, 5, {}}}}};
  EXPECT_NE(curve_svg(curve).find("<circle"), std::string::npos);
  curve.series[0].points.clear();
  for (int i = 0; i < 100'000; ++i) curve.series[0].points.push_back({i * 1.0, std::sin(i * 1e-4), {}});
  const std::string drawing = curve_svg(curve);
  EXPECT_LT(drawing.size(), 20'000u);
  EXPECT_EQ(drawing.find("nan"), std::string::npos);
  curve.series[0].points = {{0, 1e-300, {}}, {1, 1e300, Interval{-INFINITY, INFINITY}}};
  EXPECT_EQ(curve_svg(curve).find("nan"), std::string::npos);
  EXPECT_EQ(distribution_svg({}), "");
  EXPECT_EQ(distribution_svg({"", "", {{"a", {-1, 0, NAN}}}}), "");
  EXPECT_NE(distribution_svg({"", "", {{"a", {1e-300, 1e300, 1}}}}).find("<rect"), std::string::npos);
}

TEST(HtmlReport, HostileTextStaysText) {
  const std::string page = html_report(full_report(hostile));
  expect_only_our_tags(page);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("\xe2\x80\xae"), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
}

TEST(HtmlReport, NothingIsLoadedFromElsewhere) {
  const std::string page = html_report(full_report(""));
  expect_only_our_tags(page);
  for (const char* word : {"http:", "https:", "url(", "@import", "<script", "<link", "<iframe"})
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(page.find("width=device-width"), std::string::npos);
}

TEST(HtmlReport, LaterKernelsAreShownAsChanges) {
  const std::string page = html_report(full_report(""));
  EXPECT_NE(page.find("<div class=\"added\"><i>4</i>+ // more</div>"), std::string::npos);
  HtmlReport report;
  report.title = "empty";
  EXPECT_NE(html_report(report).find("<h1>empty</h1>"), std::string::npos);
  EXPECT_EQ(html_report(report).find("<h2"), std::string::npos);
}

}  // namespace
}  // namespace kw
