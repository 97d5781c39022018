#pragma once
// The look of pages: one column on a phone, colours for light and dark, the fonts that the reader's device has.

#include <string_view>

namespace kw {

inline constexpr std::string_view html_style = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #1b2330; --soft: #5c6778; --line: #e1e5eb; --well: #f1f3f6;
  --good: #0f7b4d; --good-well: #e3f5ec; --bad: #b3261e; --bad-well: #fdeceb; --bar: #c9d8f5;
  --series-1: #2b62c9; --series-2: #c2590c; --series-3: #0f8a6a; --series-4: #8a3fb0; --series-5: #a06a00; --series-6: #b3264f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #10141b; --card: #191f29; --ink: #e6eaf1; --soft: #98a4b6; --line: #2b3442; --well: #121721;
    --good: #57d39b; --good-well: #12362a; --bad: #ff8a80; --bad-well: #43201f; --bar: #2c4272;
    --series-1: #79a6ff; --series-2: #ff9d57; --series-3: #4fd1ab; --series-4: #cf96f0; --series-5: #e8b84a; --series-6: #ff86a8;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
main { max-width: 76rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: clamp(1.5rem, 4vw, 2.2rem); line-height: 1.2; margin: 0.5rem 0 0.25rem; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 0.75rem; }
h3 { font-size: 1rem; margin: 0 0 0.5rem; overflow-wrap: anywhere; }
p { margin: 0.25rem 0; }
.soft { color: var(--soft); }
.small { font-size: 0.85rem; }
nav { margin: 0.75rem 0 0; display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; font-size: 0.9rem; }
a { color: var(--series-1); text-decoration: none; }
a:hover { text-decoration: underline; }
.cards { display: grid; gap: 0.75rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); }
.figures { display: grid; gap: 0.75rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 10rem), 1fr)); margin-top: 1.5rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 0.75rem; padding: 1rem; min-width: 0; }
figure { margin: 0; }
.cards.wide { grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr)); }
.kind { color: var(--soft); font-size: 0.8rem; font-weight: 600; letter-spacing: 0.06em; text-transform: uppercase; margin: 0.5rem 0 0; }
.lead { font-size: clamp(1.1rem, 2.6vw, 1.35rem); line-height: 1.45; max-width: 52rem; margin: 1rem 0 0; overflow-wrap: anywhere; }
.note { max-width: 60rem; margin: 0.5rem 0 0.75rem; }
.missing { margin-top: 0.75rem; border-left: 4px solid var(--series-5); }
.split { display: block; width: 100%; height: 1.1rem; border-radius: 0.3rem; margin: 0.25rem 0 0.75rem; }
.parts div { display: flex; justify-content: space-between; gap: 1rem; padding: 0.1rem 0; font-variant-numeric: tabular-nums; }
.parts div span:last-child { white-space: nowrap; }
.parts div span:first-child::before { content: ""; display: inline-block; width: 0.7em; height: 0.7em; border-radius: 0.2em; background: var(--tone); margin-right: 0.5em; }
.split .bar { fill: var(--tone); }
.figure .value { font-size: 1.7rem; font-weight: 650; line-height: 1.15; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; }
.figure .name { font-weight: 550; }
.chart { width: 100%; height: auto; display: block; }
.chart text { font-size: 11px; fill: var(--ink); }
.chart .tick { fill: var(--soft); font-weight: 400; }
.chart .label { font-size: 12px; font-weight: 600; }
.chart .grid { stroke: var(--line); stroke-width: 1; }
.chart .one { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3; }
.chart .line { fill: none; stroke: var(--tone); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.chart .raw { fill: none; stroke: var(--tone); stroke-width: 1; opacity: 0.3; }
.chart .band { fill: var(--tone); opacity: 0.16; }
.chart .whisker { stroke: var(--tone); stroke-width: 1.2; opacity: 0.6; }
.chart .faint { fill: var(--tone); opacity: 0.32; }
.chart .mark { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 3; opacity: 0.7; }
.chart .dot { fill: var(--tone); stroke: var(--card); stroke-width: 1; }
.chart .bar { fill: var(--tone); }
.series-1 { --tone: var(--series-1); } .series-2 { --tone: var(--series-2); } .series-3 { --tone: var(--series-3); }
.series-4 { --tone: var(--series-4); } .series-5 { --tone: var(--series-5); } .series-6 { --tone: var(--series-6); }
.legend { display: flex; flex-wrap: wrap; gap: 0.1rem 0.9rem; font-size: 0.85rem; margin-bottom: 0.35rem; }
.legend span::before { content: ""; display: inline-block; width: 0.9em; height: 0.25em; border-radius: 1em; background: var(--tone); margin-right: 0.4em; vertical-align: middle; }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 600; color: var(--soft); font-size: 0.8rem; padding: 0.35rem 0.6rem; border-bottom: 1px solid var(--line); vertical-align: bottom; }
td { text-align: right; padding: 0.4rem 0.6rem; border-bottom: 1px solid var(--line); white-space: nowrap; vertical-align: top; }
tr:last-child td { border-bottom: 0; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td:first-child { font-weight: 550; position: sticky; left: 0; background: var(--card); }
td .detail { display: block; white-space: pre; color: var(--soft); font-size: 0.78rem; font-weight: 400; }
td.good, .status.good { color: var(--good); } td.bad, .status.bad { color: var(--bad); }
.meter { display: block; width: 7rem; height: 7px; margin: 0.25rem 0 0 auto; }
.meter .track { fill: var(--well); } .meter .fill { fill: var(--series-1); opacity: 0.45; } .meter .whisker { stroke: var(--ink); stroke-width: 1.5; }
details { background: var(--card); border: 1px solid var(--line); border-radius: 0.75rem; margin-bottom: 0.75rem; }
summary { cursor: pointer; padding: 0.8rem 1rem; font-weight: 600; overflow-wrap: anywhere; }
summary .soft { font-weight: 400; }
.why { font-size: 0.75rem; font-weight: 600; color: var(--soft); border: 1px solid var(--line); border-radius: 1rem; padding: 0.05rem 0.5rem; margin-right: 0.5rem; white-space: nowrap; }
.configuration { margin-top: 0.75rem; }
details > .inside { padding: 0 1rem 1rem; }
.turn { border-top: 1px solid var(--line); padding-top: 0.9rem; margin-top: 0.9rem; }
.turn header { display: flex; flex-wrap: wrap; gap: 0.25rem 0.75rem; align-items: baseline; margin-bottom: 0.4rem; }
.status { font-weight: 650; font-size: 0.85rem; padding: 0.05rem 0.55rem; border-radius: 1rem; }
.status.good { background: var(--good-well); } .status.bad { background: var(--bad-well); }
.quote { border-left: 3px solid var(--line); padding-left: 0.75rem; color: var(--soft); white-space: pre-wrap; overflow-wrap: anywhere; }
ul { margin: 0.4rem 0; padding-left: 1.2rem; } li { overflow-wrap: anywhere; }
pre, .code { font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; tab-size: 4; }
pre { background: var(--well); border-radius: 0.5rem; padding: 0.75rem; overflow-x: auto; margin: 0.5rem 0; max-height: 34rem; }
.code { background: var(--well); border-radius: 0.5rem; padding: 0.5rem 0; overflow: auto; margin: 0.5rem 0; max-height: 34rem; }
.code div { white-space: pre; padding: 0 0.75rem 0 0; min-width: max-content; }
.code i { display: inline-block; width: 3.2em; padding-right: 0.9em; text-align: right; color: var(--soft); opacity: 0.7; font-style: normal; user-select: none; }
.code .added { background: var(--good-well); } .code .removed { background: var(--bad-well); } .code .gap { color: var(--soft); }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: 0.25rem 1rem; margin: 0; font-size: 0.9rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 30rem) { th, td { padding-left: 0.35rem; padding-right: 0.35rem; } td:first-child, td:first-child .detail { white-space: normal; max-width: 8rem; } td:first-child { min-width: 6.6rem; } td:first-child { padding-right: 0.5rem; } .meter { width: 5rem; } main { padding: 1rem 0.75rem 3rem; } dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 0.5rem; } }
@media print { body { background: none; font-size: 11pt; } nav { display: none; } .code, pre { max-height: none; } .code div { white-space: pre-wrap; min-width: 0; } tr, .turn header { break-inside: avoid; } h2, h3 { break-after: avoid; } details:not([open]) > .inside { display: none; } .figure, figure { break-inside: avoid; } }
)css";

}  // namespace kw
