#include "agents/episode/conversation_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "agents/episode/library_kernel.h"
#include "kernel/judge/baseline.h"

namespace kw {
namespace {

using Tone = ReportCell::Tone;

ReportCell cell(std::string text, Tone tone = Tone::plain, std::string detail = "") {
  ReportCell one;
  one.text = std::move(text);
  one.tone = tone;
  one.detail = std::move(detail);
  return one;
}

std::string finding_text(const VerdictFinding& finding) {
  return fmt::format("{}{}: {}", finding.line > 0 ? fmt::format("line {}, ", finding.line) : "", finding.kind,
                     finding.message);
}

// The small table under a kernel.
ReportFacts verdict_facts(Baseline naive, const Verdict& verdict, const TurnSample* sample) {
  ReportFacts facts;
  const auto failed =
      std::count_if(verdict.cases.begin(), verdict.cases.end(), [](const CaseVerdict& one) { return !one.ok; });
  if (!verdict.cases.empty())
    facts.emplace_back("cases", fmt::format("{} of {} right", verdict.cases.size() - static_cast<std::size_t>(failed),
                                            verdict.cases.size()));
  for (const SizedTime& time : verdict.times)
    facts.emplace_back(to_string(time.sizes),
                       fmt::format("{:.2f} us{}", time.time_us,
                                   time.naive_us ? fmt::format(", {} {:.2f} us", name_of(naive), *time.naive_us) : ""));
  for (const KernelUse& use : verdict.resources)
    facts.emplace_back(
        use.kernel, fmt::format("{} registers, {} bytes shared, occupancy {:.0f} %{}", use.registers, use.shared_bytes,
                                100 * use.occupancy,
                                use.spill_bytes > 0 ? fmt::format(", {} bytes spilled", use.spill_bytes) : ""));
  if (sample == nullptr) return facts;
  if (!sample->strategies.empty()) facts.emplace_back("means", to_string(sample->strategies));
  facts.emplace_back("reward", sample->rewarded ? fmt::format("{:.3f}", sample->reward) : "none");
  return facts;
}

void add_verdict(ReportTurn& turn, Baseline naive, const Verdict& verdict, const TurnSample* sample) {
  turn.status = to_string(verdict.status);
  turn.good = rank_of(verdict).right;
  turn.summary = verdict.summary;
  turn.speed = speed_text(naive, verdict);
  turn.limiter = verdict.correct ? verdict.limiter : "";
  for (const VerdictFinding& finding : verdict.findings) turn.findings.push_back(finding_text(finding));
  turn.facts = verdict_facts(naive, verdict, sample);
}

ReportTurn report_turn(const Episode& episode, const Turn& turn) {
  const TurnSample& sample = chosen_sample(turn);
  ReportTurn report;
  report.agent = to_string(turn.role);
  if (const std::string purpose = purpose_of(episode, turn); !purpose.empty()) report.agent += " " + purpose;
  if (turn.samples.size() > 1) report.agent += fmt::format(" (sample {} of {})", turn.chosen + 1, turn.samples.size());
  report.said = sample.kernel.empty() ? sample.text : sample.said;
  report.kernel = sample.kernel;
  if (turn.role == AgentRole::optimizer) report.given = kernel_of(episode, turn.given_turn);
  if (sample.verdict) {
    add_verdict(report, naive_baseline(episode), *sample.verdict, &sample);
  } else {
    report.status = sample.skipped ? "skipped" : to_string(sample.outcome);
    report.summary = sample.message;
  }
  return report;
}

// Who wrote the kernel that it began with, where a turn names its agent.
std::string agent_of_given(const Episode& episode) {
  return episode.request.kernel_writer == KernelWriter::library ? "library" : "given";
}

ReportTable samples_table(const Episode& episode) {
  ReportTable table;
  table.title = "Every answer";
  table.headings = {"turn", "agent", "tokens", "outcome", "speedup", "reward", "means"};
  for (const Turn& turn : episode.turns) {
    for (std::size_t i = 0; i < turn.samples.size(); ++i) {
      const TurnSample& sample = turn.samples[i];
      const bool right = sample.verdict && rank_of(*sample.verdict).right;
      const std::string outcome(sample.verdict   ? to_string(sample.verdict->status)
                                : sample.skipped ? std::string_view("skipped")
                                                 : to_string(sample.outcome));
      const bool several = turn.samples.size() > 1;
      const bool taken = turn.chosen == static_cast<std::int64_t>(i);
      table.rows.push_back(
          {cell(fmt::format("{}", turn.index + 1), Tone::plain,
                several ? fmt::format("sample {}{}", i + 1, taken ? ", taken" : "") : ""),
           cell(std::string(to_string(turn.role))), cell(fmt::format("{}", token_count(sample.tokens, sample.usage))),
           cell(outcome, right ? Tone::good : Tone::bad),
           cell(right && sample.verdict->speedup_naive ? fmt::format("{:.2f} x", *sample.verdict->speedup_naive) : "-"),
           cell(sample.rewarded ? fmt::format("{:.3f}", sample.reward) : "-"),
           cell(sample.strategies.empty() ? "-" : to_string(sample.strategies))});
    }
  }
  return table;
}

std::vector<ReportFigure> figures_of(const Episode& episode) {
  std::size_t answers = 0, right = 0;
  for (const Turn& turn : episode.turns)
    for (const TurnSample& sample : turn.samples) {
      ++answers;
      right += sample.verdict && rank_of(*sample.verdict).right ? 1u : 0u;
    }
  std::vector<ReportFigure> figures;
  if (episode.best) {
    const Verdict& best = verdict_of(episode, *episode.best);
    if (best.speedup_naive)
      figures.push_back({fmt::format("{:.2f} x", *best.speedup_naive),
                         fmt::format("the speed of {}", words_of(naive_baseline(episode))),
                         *episode.best < 0 ? std::string(words_of_given(episode))
                                           : fmt::format("turn {}, by the agents", *episode.best + 1)});
  } else {
    figures.push_back({"none", "kernel is right", ""});
  }
  figures.push_back({fmt::format("{}", episode.turns.size()), "turns", end_text(episode)});
  figures.push_back({fmt::format("{} of {}", right, answers), "answers are right", ""});
  figures.push_back({fmt::format("{}", episode.tokens), "tokens", "sampled"});
  return figures;
}

}  // namespace

std::string purpose_of(const Episode& episode, const Turn& turn) {
  if (turn.role != AgentRole::optimizer) return "";
  const bool right = rank_of(verdict_of(episode, turn.given_turn)).right;
  const std::string whose = turn.given_turn < 0 ? std::string(words_of_given(episode))
                                                : fmt::format("the kernel of turn {}", turn.given_turn + 1);
  return fmt::format("{} {}", right ? "improves" : "repairs", whose);
}

std::string speed_text(Baseline naive, const Verdict& verdict) {
  if (!verdict.correct || !verdict.time_us) return "";
  if (!verdict.speedup_naive) return fmt::format("{:.2f} us", *verdict.time_us);
  return fmt::format("{}, {:.2f} us", speedup_text(naive, *verdict.speedup_naive), *verdict.time_us);
}

std::string end_text(const Episode& episode) {
  switch (episode.end) {
    case EpisodeEnd::unfinished:
      return "it was interrupted";
    case EpisodeEnd::turns:
      return "all turns were taken";
    case EpisodeEnd::target:
      return "the target was reached";
    case EpisodeEnd::tokens:
      return "the tokens are used up";
    case EpisodeEnd::time:
      return "the time is over";
    case EpisodeEnd::stuck:
      return "the agent would say the same again";
    case EpisodeEnd::refused:
      return "the next question cannot be asked: " + episode.problem;
    case EpisodeEnd::cancelled:
      return "it was cancelled";
  }
  return "";
}

ReportConversation report_conversation(const Episode& episode) {
  const Task& task = *episode.request.task;
  ReportConversation conversation{task.name, task.summary, task.pytorch, {}};
  if (episode.given_verdict) {
    ReportTurn given;
    given.agent = agent_of_given(episode);
    given.kernel = episode.request.kernel;
    add_verdict(given, naive_baseline(episode), *episode.given_verdict, nullptr);
    conversation.turns.push_back(std::move(given));
  }
  for (const Turn& turn : episode.turns) conversation.turns.push_back(report_turn(episode, turn));
  return conversation;
}

std::string conversation_page(const Episode& episode, const ReportFacts& facts) {
  const Task& task = *episode.request.task;
  HtmlReport report;
  report.title = task.name;
  report.subtitle = task.summary;
  if (const std::string library = library_text(episode); !library.empty())
    report.subtitle += (report.subtitle.empty() ? "" : " ") + library;
  report.figures = figures_of(episode);
  report.conversations.push_back(report_conversation(episode));
  if (episode.best) {
    ReportConversation best{"The best kernel", "", "", {}};
    ReportTurn turn;
    turn.agent = *episode.best < 0 ? agent_of_given(episode) : fmt::format("of turn {}", *episode.best + 1);
    turn.kernel = kernel_of(episode, *episode.best);
    add_verdict(turn, naive_baseline(episode), verdict_of(episode, *episode.best), nullptr);
    best.turns.push_back(std::move(turn));
    report.conversations.push_back(std::move(best));
  }
  if (!episode.turns.empty()) report.tables.push_back(samples_table(episode));
  report.machine = facts;
  return html_report(report);
}

}  // namespace kw
