#include "agents/search/search_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "agents/episode/conversation_page.h"
#include "base/progress.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;
using Tone = ReportCell::Tone;

// A chart smooths longer lines.
constexpr std::size_t most_steps = 14;
constexpr std::size_t most_rows = 24;

const Candidate& at(const SearchOutcome& outcome, int number) {
  return outcome.candidates.at(static_cast<std::size_t>(number));
}

ReportCell cell(std::string text, Tone tone = Tone::plain) {
  ReportCell made;
  made.text = std::move(text);
  made.tone = tone;
  return made;
}

std::string time_text(const KnownTime& time) {
  if (!time.measured) return fmt::format("{:.2f} us", time.us);
  return fmt::format("{:.2f} us ({:.2f} to {:.2f})", time.us, time.interval_us.low, time.interval_us.high);
}

Curve best_curve(const SearchOutcome& outcome) {
  Curve curve;
  curve.title = "Best time";
  curve.x_name = "verdicts";
  curve.note = "microseconds of the best kernel so far";
  curve.logarithmic = true;
  CurveSeries best{"best", {}};
  const auto last = static_cast<double>(std::max<std::int64_t>(outcome.verdicts, 1));
  const bool steps = outcome.gains.size() <= most_steps;
  for (const SearchGain& gain : outcome.gains) {
    const auto x = static_cast<double>(gain.verdicts);
    if (steps && !best.points.empty()) best.points.push_back({x, best.points.back().y, {}});
    best.points.push_back({x, gain.us, {}});
  }
  if (!best.points.empty()) best.points.push_back({last, best.points.back().y, {}});
  curve.series.push_back(std::move(best));
  if (outcome.limit.us > 0 && !outcome.gains.empty())
    curve.series.push_back({"limit of the device", {{1, outcome.limit.us, {}}, {last, outcome.limit.us, {}}}});
  return curve;
}

ReportTable operators_table(const SearchOutcome& outcome) {
  ReportTable table;
  table.title = "Who proposed what";
  table.headings = {"operator", "proposals", "judged", "right", "fastest of its kind", "new best"};
  for (std::size_t i = 0; i < search_operators; ++i) {
    const OperatorStanding& standing = outcome.operators[i];
    if (standing.answers == 0) continue;
    table.rows.push_back({cell(std::string(to_string(static_cast<SearchOperator>(i)))),
                          cell(std::to_string(standing.answers)), cell(std::to_string(standing.verdicts)),
                          cell(std::to_string(standing.right)), cell(std::to_string(standing.leads)),
                          cell(std::to_string(standing.bests))});
  }
  return table;
}

ReportTable niches_table(const SearchOutcome& outcome) {
  ReportTable table;
  table.title = "The population";
  table.note = "the fastest kernel of each pair of strategies and limiter";
  table.headings = {"strategies", "limited by", "fastest", "from", "tried"};
  for (const Niche& niche : outcome.niches) {
    if (table.rows.size() >= most_rows) break;
    const Candidate& fastest = at(outcome, niche.members.front());
    if (!fastest.time) continue;
    table.rows.push_back({cell(niche.strategies), cell(niche.limiter), cell(time_text(*fastest.time)),
                          cell(origin_text(fastest)), cell(std::to_string(niche.tried))});
  }
  return table;
}

ReportTurn report_turn(const SearchOutcome& outcome, const Candidate& candidate) {
  const Verdict verdict = known_verdict(candidate);
  ReportTurn turn;
  turn.agent = origin_text(candidate);
  turn.kernel = candidate.proposal.kernel;
  turn.status = to_string(verdict.status);
  turn.good = candidate.right();
  turn.summary = verdict.summary;
  turn.speed = speed_text(Baseline::naive, verdict);
  turn.limiter = verdict.limiter;
  for (const VerdictFinding& finding : verdict.findings) turn.findings.push_back(finding.message);
  if (candidate.proposal.parent >= 0) turn.given = at(outcome, candidate.proposal.parent).proposal.kernel;
  return turn;
}

// From the first ancestor to the best kernel, each as what it changes.
ReportConversation lineage(const Task& task, const SearchOutcome& outcome) {
  ReportConversation story{task.name, task.summary, task.pytorch, {}};
  for (int number = outcome.best.value_or(-1); number >= 0; number = at(outcome, number).proposal.parent)
    story.turns.push_back(report_turn(outcome, at(outcome, number)));
  std::ranges::reverse(story.turns);
  story.why = "how the best kernel came to be";
  return story;
}

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json candidate_json(const Candidate& candidate) {
  Json strategies = Json::array();
  for (const Strategy strategy : candidate.strategies) strategies.push_back(to_string(strategy));
  const Verdict& verdict = *candidate.verdict;
  Json json{{"number", candidate.number},
            {"from", to_string(candidate.proposal.from)},
            {"parent", candidate.proposal.parent < 0 ? Json(nullptr) : Json(candidate.proposal.parent)},
            {"change", candidate.proposal.change},
            {"status", to_string(known_verdict(candidate).status)},
            {"time_us", candidate.time ? Json(candidate.time->us) : Json(nullptr)},
            {"modelled_us", verdict.time_source == "modelled" ? number(verdict.time_us) : Json(nullptr)},
            {"measurements", candidate.measured.size()},
            {"limiter", verdict.limiter},
            {"strategies", std::move(strategies)},
            {"kernel", candidate.proposal.kernel}};
  return json;
}

}  // namespace

std::string end_text(const SearchOutcome& outcome, const SearchOptions& options) {
  switch (outcome.end) {
    case SearchEnd::unfinished:
      return "it was interrupted";
    case SearchEnd::verdicts:
      return "the budget of verdicts is used up";
    case SearchEnd::time:
      return "the time is over";
    case SearchEnd::limit:
      return fmt::format("the best time is within {:.0f} % of the limit", 100 * options.close_enough);
    case SearchEnd::no_gain:
      return fmt::format("{} verdicts have gained nothing", options.patience);
    case SearchEnd::exhausted:
      return "nobody has anything new to propose";
  }
  return "";
}

std::string origin_text(const Candidate& candidate) {
  const Proposal& proposal = candidate.proposal;
  const std::string of = proposal.parent >= 0 ? fmt::format(" of kernel {}", proposal.parent) : "";
  switch (proposal.from) {
    case SearchOperator::given:
      return "given";
    case SearchOperator::generator:
      return proposal.change.empty() ? "generator" : fmt::format("generator ({})", proposal.change);
    case SearchOperator::optimizer:
      return "optimizer" + of;
    case SearchOperator::constants:
    case SearchOperator::edits:
      return proposal.change + of;
  }
  return "";
}

std::optional<double> share_of_limit(const SearchOutcome& outcome, double us) {
  if (!(outcome.limit.us > 0) || !(us > 0)) return std::nullopt;
  return std::min(1.0, outcome.limit.us / us);
}

std::string search_page(const Task& task, const SearchOutcome& outcome, const SearchOptions& options,
                        const ReportFacts& facts) {
  HtmlReport report;
  report.kind = "Search";
  report.title = task.name;
  report.subtitle = task.summary;
  if (outcome.best) {
    const Candidate& best = at(outcome, *outcome.best);
    const Verdict verdict = known_verdict(best);
    report.figures.push_back({fmt::format("{:.2f} us", best.time->us), "the best kernel", origin_text(best)});
    if (verdict.speedup_naive)
      report.figures.push_back({fmt::format("{:.2f} x", *verdict.speedup_naive), "the speed of the naive kernel", ""});
    if (const auto share = share_of_limit(outcome, best.time->us))
      report.figures.push_back({fmt::format("{:.0f} %", 100 * *share), "of what the device allows",
                                fmt::format("{:.2f} us: {}", outcome.limit.us, outcome.limit.what)});
  } else {
    report.figures.push_back({"none", "kernel is right", ""});
  }
  report.figures.push_back({fmt::format("{}", outcome.verdicts), "verdicts", end_text(outcome, options)});
  if (outcome.measurements > 0)
    report.figures.push_back({fmt::format("{}", outcome.measurements), "measurements", "the others were modelled"});
  if (outcome.looks > 0)
    report.figures.push_back(
        {fmt::format("{}", outcome.looks), "looks", "of the performance model, without a verdict"});
  report.figures.push_back({duration_text(outcome.seconds), "of search", fmt::format("{} rounds", outcome.rounds)});
  report.curves.push_back(best_curve(outcome));
  report.tables.push_back(operators_table(outcome));
  if (!outcome.niches.empty()) report.tables.push_back(niches_table(outcome));
  if (outcome.best) report.conversations.push_back(lineage(task, outcome));
  report.machine = facts;
  return html_report(report);
}

Json to_json(const SearchOutcome& outcome) {
  Json gains = Json::array(), candidates = Json::array(), operators = Json::object(), niches = Json::array();
  for (const SearchGain& gain : outcome.gains)
    gains.push_back({{"candidate", gain.candidate},
                     {"verdicts", gain.verdicts},
                     {"measurements", gain.measurements},
                     {"seconds", gain.seconds},
                     {"time_us", gain.us}});
  for (const Candidate& candidate : outcome.candidates) candidates.push_back(candidate_json(candidate));
  for (std::size_t i = 0; i < search_operators; ++i) {
    const OperatorStanding& standing = outcome.operators[i];
    operators[std::string(to_string(static_cast<SearchOperator>(i)))] = {{"proposals", standing.answers},
                                                                         {"verdicts", standing.verdicts},
                                                                         {"right", standing.right},
                                                                         {"leads", standing.leads},
                                                                         {"bests", standing.bests}};
  }
  for (const Niche& niche : outcome.niches)
    niches.push_back({{"strategies", niche.strategies}, {"limiter", niche.limiter}, {"members", niche.members}});
  Json best = nullptr;
  if (outcome.best) {
    const Candidate& candidate = at(outcome, *outcome.best);
    best = {{"candidate", candidate.number},
            {"time_us", candidate.time->us},
            {"interval_us", {candidate.time->interval_us.low, candidate.time->interval_us.high}},
            {"measured", candidate.time->measured},
            {"share_of_limit", number(share_of_limit(outcome, candidate.time->us))},
            {"kernel", candidate.proposal.kernel},
            {"verdict", to_json(known_verdict(candidate))}};
  }
  return {
      {"end", to_string(outcome.end)},
      {"best", std::move(best)},
      {"verdicts", outcome.verdicts},
      {"measurements", outcome.measurements},
      {"looks", outcome.looks},
      {"twins", outcome.twins},
      {"rounds", outcome.rounds},
      {"rounds_before", outcome.rounds_before},
      {"seconds", outcome.seconds},
      {"limit", {{"us", outcome.limit.us > 0 ? Json(outcome.limit.us) : Json(nullptr)}, {"what", outcome.limit.what}}},
      {"gains", std::move(gains)},
      {"operators", std::move(operators)},
      {"niches", std::move(niches)},
      {"candidates", std::move(candidates)}};
}

}  // namespace kw
