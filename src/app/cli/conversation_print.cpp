#include "app/cli/conversation_print.h"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>

#include "agents/episode/conversation_page.h"
#include "agents/episode/library_kernel.h"
#include "app/cli/terminal_text.h"
#include "app/cli/verdict_print.h"
#include "base/page/unified_diff.h"
#include "base/table.h"

namespace kw::cli {
namespace {

constexpr std::size_t heading_width = 78;
constexpr std::size_t findings_shown = 3;
constexpr std::size_t said_shown = 400;

void print_heading(const std::string& text) {
  std::string line = "── " + text + " ";
  for (std::size_t width = display_width(line); width < heading_width; ++width) line += "─";
  std::cout << "\n" << line << "\n";
}

std::string one_line(std::string_view text) {
  std::string line = terminal_text(text);
  for (char& c : line)
    if (c == '\n' || c == '\t') c = ' ';
  return line;
}

std::string outcome_text(const TurnSample& sample) {
  if (sample.skipped) return "skipped";
  return std::string(sample.verdict ? to_string(sample.verdict->status) : to_string(sample.outcome));
}

std::string reward_text(const TurnSample& sample) {
  return sample.rewarded ? fmt::format("{:.3f}", sample.reward) : "-";
}

void print_findings(const Verdict& verdict) {
  for (std::size_t i = 0; i < std::min(verdict.findings.size(), findings_shown); ++i) {
    const VerdictFinding& finding = verdict.findings[i];
    std::cout << fmt::format("     {}[{}] {}\n", finding.line > 0 ? fmt::format("line {}: ", finding.line) : "",
                             one_line(finding.kind), one_line(finding.message));
  }
}

// The judge's word on what the conversation goes on with.
void print_judged(Baseline naive, const Verdict& verdict) {
  const std::string speed = speed_text(naive, verdict);
  std::cout << fmt::format("  => {}{}{}\n", to_string(verdict.status),
                           speed.empty() ? ": " + one_line(verdict.summary) : ", " + speed,
                           verdict.correct && !verdict.limiter.empty() ? ", limited by " + verdict.limiter : "");
  print_findings(verdict);
}

// Over the naive kernel; where the task has none, the time.
std::string speed_of(const TurnSample& sample) {
  if (!sample.verdict || !sample.verdict->correct) return "-";
  if (sample.verdict->speedup_naive) return fmt::format("{:.2f} x", *sample.verdict->speedup_naive);
  return sample.verdict->time_us ? fmt::format("{:.2f} us", *sample.verdict->time_us) : "-";
}

void print_samples(const Turn& turn) {
  const auto r = Align::right;
  Table table({"sample", "tokens", "outcome", "speed", "reward", "means", ""},
              {r, r, Align::left, r, r, Align::left, Align::left});
  for (std::size_t i = 0; i < turn.samples.size(); ++i) {
    const TurnSample& sample = turn.samples[i];
    table.add({std::to_string(i + 1), std::to_string(token_count(sample.tokens, sample.usage)), outcome_text(sample),
               speed_of(sample), reward_text(sample), sample.strategies.empty() ? "-" : to_string(sample.strategies),
               turn.chosen == static_cast<std::int64_t>(i) ? "<" : ""});
  }
  std::cout << table.text();
}

void print_turn(const Episode& episode, const Turn& turn) {
  const TurnSample& sample = chosen_sample(turn);
  if (turn.samples.size() > 1) print_samples(turn);
  if (sample.verdict) return print_judged(naive_baseline(episode), *sample.verdict);
  std::cout << fmt::format("  => {}: {}\n", outcome_text(sample), one_line(sample.message));
}

void print_given(const Episode& episode) {
  print_heading(episode.request.kernel_writer == KernelWriter::library ? "the library's kernel" : "given kernel");
  print_judged(naive_baseline(episode), *episode.given_verdict);
}

std::string heading_of(const Episode& episode, const Turn& turn) {
  const std::string purpose = purpose_of(episode, turn);
  return fmt::format("turn {}: {}{}", turn.index + 1, to_string(turn.role), purpose.empty() ? "" : " " + purpose);
}

}  // namespace

EpisodeHooks ConversationView::hooks() {
  EpisodeHooks hooks;
  hooks.on_question = [this](const Episode& episode, const Turn& turn) { question(episode, turn); };
  hooks.on_token = [this](const Episode&, const Turn&, const TokenEvent& event) {
    if (event.restarted && samples_ == 1) {
      std::fputs(line_open_ ? "\n... cut off: sampled again\n" : "... cut off: sampled again\n", stdout);
      line_open_ = false;
    }
    if (event.token.token >= 0) ++tokens_;
    if (samples_ > 1) {
      if (event.finished && progress_) progress_->advance(1, fmt::format("{} tokens", tokens_));
      return;
    }
    const std::string text = terminal_text(event.text);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    if (!text.empty()) line_open_ = text.back() != '\n';
  };
  hooks.on_answer = [this](const Episode&, const Turn& turn, std::size_t sample) { answer(turn, sample); };
  hooks.on_verdict = [this](const Episode&, const Turn&, std::size_t) {
    if (progress_) progress_->advance(1, fmt::format("{} tokens", tokens_));
  };
  hooks.on_given = print_given;
  hooks.on_turn = [this](const Episode& episode) { turn_taken(episode); };
  return hooks;
}

void ConversationView::question(const Episode& episode, const Turn& turn) {
  if (!std::exchange(began_, true) && episode.resumed > 0) show_stored(episode);
  print_heading(heading_of(episode, turn));
  std::cout << std::flush;
  tokens_ = 0;
  // Each sample is answered, then judged.
  if (samples_ > 1) progress_ = std::make_unique<Progress>("answers and verdicts", 2 * samples_);
}

void ConversationView::answer(const Turn& turn, std::size_t sample) {
  if (line_open_) std::cout << "\n" << std::flush;
  line_open_ = false;
  const TurnSample& one = turn.samples[sample];
  if (progress_ && (one.kernel.empty() || one.skipped)) progress_->advance(1);
}

void ConversationView::turn_taken(const Episode& episode) {
  if (progress_) progress_->finish();
  progress_.reset();
  print_turn(episode, episode.turns.back());
  std::cout << std::flush;
}

void ConversationView::show_stored(const Episode& episode) {
  if (episode.given_verdict) print_given(episode);
  for (std::size_t i = 0; i < static_cast<std::size_t>(episode.resumed); ++i) {
    print_heading(heading_of(episode, episode.turns[i]) + " (from the store)");
    print_turn(episode, episode.turns[i]);
  }
}

void print_library(const Episode& episode) {
  if (const std::string text = library_text(episode); !text.empty()) std::cout << one_line(text) << "\n" << std::flush;
}

void print_outcome(const Episode& episode) {
  std::cout << "\nThe conversation is over: " << one_line(end_text(episode)) << ".\n";
  if (!episode.best) {
    std::cout << "No kernel is right.\n";
    return;
  }
  const std::string& best = kernel_of(episode, *episode.best);
  print_heading(*episode.best < 0 ? fmt::format("best: {}", words_of_given(episode))
                                  : fmt::format("best: turn {}, by the agents", *episode.best + 1));
  std::cout << terminal_text(best) << (best.empty() || best.back() == '\n' ? "\n" : "\n\n");
  print_verdict(verdict_of(episode, *episode.best), naive_baseline(episode));
  if (const auto gain = gain_of(episode); gain && gain->from != *episode.best)
    std::cout << fmt::format(
        "{:.2f} x the speed of the first right kernel ({})\n", gain->factor,
        gain->from < 0 ? std::string(words_of_given(episode)) : fmt::format("turn {}", gain->from + 1));
  const auto kernels = trajectory_of(episode);
  const int first = kernels.front().turn;
  if (first == *episode.best) return;
  const std::string first_file = episode.request.kernel_writer == KernelWriter::library ? "library.cu" : "given.cu";
  const std::string diff =
      unified_diff(kernel_of(episode, first), best, first < 0 ? first_file : fmt::format("turn{}.cu", first + 1),
                   fmt::format("turn{}.cu", *episode.best + 1));
  print_heading("from the first kernel to the best");
  std::cout << (diff.empty() ? "The same text.\n" : terminal_text(diff));
}

}  // namespace kw::cli
