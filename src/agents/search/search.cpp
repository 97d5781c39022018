#include "agents/search/search.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "agents/episode/episode.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "kernel/judge/task_identity.h"
#include "kernel/source/fingerprint.h"

namespace kw {
namespace {

constexpr int most_barren_rounds = 4;
constexpr std::int64_t fewest_shared = 8;
constexpr std::int64_t samples_of_a_question = 4;
constexpr double share_without_level = 0.4;
constexpr double warmer = 0.2;  // for each answer more that a new kernel takes
constexpr std::size_t most_tried_shown = 3;
constexpr int other_parents = 6;
constexpr std::size_t parents_of_a_descent = 3;
constexpr std::int64_t finds_a_verdict = 3;
// A change is worth a verdict when its expected time is within this factor of the best one: less where the model is
// also what the verdict says.
constexpr double measured_hope = 1.1;
constexpr double modelled_hope = 0.999;
constexpr double told_apart = 0.001;
// Answers that the model looks at for each verdict.
constexpr std::int64_t most_looked_answers = 4;

// Of all that the answers depend on, besides the model.
std::string name_of_questions(const std::vector<SearchQuestion>& asked, const std::vector<Candidate>& candidates) {
  Sha256 hash;
  for (const SearchQuestion& question : asked) {
    hash.add(to_string(question.from)).add(question.level);
    hash.add(question.parent < 0 ? "" : candidates[static_cast<std::size_t>(question.parent)].proposal.kernel);
    hash.add(fmt::format("{} {} {}", question.samples, question.temperature, question.seed));
  }
  return hash.hex();
}

}  // namespace

bool needs_no_agent(SearchOperator from) { return from == SearchOperator::constants || from == SearchOperator::edits; }

std::string_view to_string(SearchEnd end) {
  constexpr std::array<std::string_view, 6> names{"unfinished", "verdicts", "time", "limit", "no_gain", "exhausted"};
  return names.at(static_cast<std::size_t>(end));
}

std::string search_identity(const Task& task, const SearchOptions& options, const std::vector<Proposal>& given,
                            const std::string& model, const std::string& judge) {
  Sha256 hash;
  hash.add("search 2").add(task_identity(task)).add(task.summary).add(model).add(judge);
  hash.add(fmt::format("{} {} {} {} {} {}", options.seed, options.round, options.temperature, options.filter,
                       options.looks, options.measured_share));
  for (const SearchOperator from : options.operators) hash.add(to_string(from));
  for (const std::string& level : options.levels) hash.add(level);
  for (const Proposal& proposal : given) hash.add(proposal.kernel);
  return hash.hex();
}

Verdict known_verdict(const Candidate& candidate) {
  Verdict verdict = *candidate.verdict;
  if (candidate.measured.empty()) return verdict;
  const Verdict& measured = *candidate.measured.back();
  if (!measured.correct || !candidate.time) return measured;
  verdict.status = measured.status;
  verdict.correct = true;
  verdict.backend = measured.backend;
  verdict.summary = measured.summary;
  verdict.time_us = candidate.time->us;
  verdict.time_interval_us = candidate.time->interval_us;
  verdict.time_source = measured.time_source;
  verdict.times = measured.times;
  verdict.speedup_naive = measured.speedup_naive;
  verdict.speedup_interval = measured.speedup_interval;
  verdict.faster_than_naive = measured.faster_than_naive;
  verdict.measured_on = measured.measured_on;
  verdict.flags = measured.flags;
  return verdict;
}

Search::Search(SearchLimit limit, SearchOptions options, KernelScorer& scorer, SearchAgents* agents,
               SearchRecord& record, SearchHooks hooks)
    : options_(std::move(options)), scorer_(scorer), agents_(agents), record_(record), hooks_(std::move(hooks)) {
  outcome_.limit = std::move(limit);
  for (const SearchOperator from : options_.operators)
    outcome_.operators[index_of(from)].enabled = needs_no_agent(from) || agents_ != nullptr;
}

double Search::seconds() const {
  if (const auto then = record_.seconds_at(round_)) return *then;
  return before_s_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

bool Search::go_on() {
  if (interrupted() || (options_.seconds > 0 && seconds() >= options_.seconds)) spent_ = true;
  if (hooks_.on_progress) hooks_.on_progress(outcome_);
  return !spent_;
}

// In the order in which a person would give the reasons.
std::optional<SearchEnd> Search::end_now() {
  if (options_.verdicts > 0 && outcome_.verdicts >= options_.verdicts) return SearchEnd::verdicts;
  if (outcome_.best && outcome_.limit.us > 0) {
    const double us = outcome_.candidates[static_cast<std::size_t>(*outcome_.best)].time->us;
    if (us <= outcome_.limit.us * (1 + options_.close_enough)) return SearchEnd::limit;
  }
  if (options_.patience > 0 && outcome_.best && outcome_.verdicts - verdicts_at_gain_ >= options_.patience)
    return SearchEnd::no_gain;
  if (barren_rounds_ >= most_barren_rounds) return SearchEnd::exhausted;
  return std::nullopt;
}

Result<SearchOutcome> Search::run(const std::vector<Proposal>& given) {
  began_ = std::chrono::steady_clock::now();
  before_s_ = record_.seconds();
  outcome_.rounds_before = record_.rounds();
  const std::int64_t most = options_.verdicts > 0 ? options_.verdicts : static_cast<std::int64_t>(given.size());
  for (round_ = 0;; ++round_) {
    if (round_ >= record_.rounds()) go_on();
    const bool over = spent_;  // what the record has of a round that was cut off still counts
    const std::size_t before = outcome_.candidates.size();
    if (round_ == 0 && !given.empty()) {
      KW_TRY(Batch batch, begin_batch(given, most, BatchOf::given));
      KW_TRY_VOID(wait_for({&batch}));
      std::vector<int> fresh;
      settle(std::move(batch), fresh);
      KW_TRY_VOID(measure(fresh));
    } else {
      KW_TRY_VOID(take_round(round_));
    }
    outcome_.seconds = seconds();
    if (!spent_) KW_TRY_VOID(record_.end_round(round_, outcome_.seconds));
    outcome_.rounds = over && outcome_.candidates.size() == before ? round_ : round_ + 1;
    const auto end = end_now();
    if (end) outcome_.end = *end;
    if (!end && (over || spent_)) outcome_.end = interrupted() ? SearchEnd::unfinished : SearchEnd::time;
    if (end || over || spent_) break;
  }
  KW_TRY_VOID(record_.note_seconds(outcome_.seconds));
  scorer_.drop_waiting();
  outcome_.niches = population_.niches();
  return std::move(outcome_);
}

Result<void> Search::take_round(int round) {
  Random random(Random(options_.seed, static_cast<std::uint64_t>(round)).next());
  std::int64_t count = options_.round;
  if (options_.verdicts > 0) count = std::min(count, options_.verdicts - outcome_.verdicts);
  const std::int64_t before = outcome_.verdicts;
  const bool any = !population_.empty() || nearest_wrong() >= 0;
  // The last verdict of a budget may be anybody's.
  RoundShares shares = round_shares(outcome_.operators, std::max(count, fewest_shared), !population_.empty(), any);
  names_of_change_.clear();
  std::vector<Proposal> proposed;
  std::int64_t most_changes = 0;
  for (const SearchOperator from : {SearchOperator::constants, SearchOperator::edits}) {
    const std::int64_t most = std::min(shares[index_of(from)], count - most_changes);
    most_changes += most;
    KW_TRY(std::vector<Proposal> more, changes(from, most, random));
    for (Proposal& each : more) proposed.push_back(std::move(each));
  }
  KW_TRY(Batch changed, begin_batch(std::move(proposed), most_changes, BatchOf::changes));
  const auto left = count - static_cast<std::int64_t>(changed.proposals.size());
  // What changes have no use for is the agents'.
  for (const SearchOperator from : {SearchOperator::generator, SearchOperator::optimizer})
    if (shares[index_of(from)] > 0) {
      shares[index_of(from)] += most_changes - static_cast<std::int64_t>(changed.proposals.size());
      break;
    }
  const auto asked = questions(shares, round, random);
  // While the agents write, the judge works.
  KW_TRY(std::vector<Proposal> said, agent_proposals(asked, changed));
  KW_TRY(Batch answered, begin_batch(std::move(said), left, BatchOf::agents));
  KW_TRY_VOID(wait_for({&changed, &answered}));
  std::vector<int> fresh;
  settle(std::move(changed), fresh);
  settle(std::move(answered), fresh);
  KW_TRY_VOID(measure(fresh));
  barren_rounds_ = outcome_.verdicts == before ? barren_rounds_ + 1 : 0;
  return {};
}

Result<std::vector<Proposal>> Search::changes(SearchOperator from, std::int64_t count, Random& random) {
  if (population_.empty() || count <= 0) return std::vector<Proposal>();
  if (options_.looks > 0) return descents(from, count, random);
  return blind_changes(from, count, random);
}

NextMove Search::next_move(SearchOperator from) const {
  if (from == SearchOperator::edits) return next_edit;
  return [this](const std::string& kernel, const KnownKernel& known, Random& random) {
    return next_constant_move(kernel, constants_, known, random);
  };
}

std::vector<Proposal> Search::blind_changes(SearchOperator from, std::int64_t count, Random& random) {
  const NextMove next = next_move(from);
  std::vector<Proposal> proposals;
  std::set<std::string> now;
  const KnownKernel known = [&](const std::string& kernel) {
    const std::string name = fingerprint(kernel);
    return known_.contains(name) || now.contains(name);
  };
  int without = 0;
  while (static_cast<std::int64_t>(proposals.size()) < count && without < other_parents) {
    const Candidate& parent = outcome_.candidates[static_cast<std::size_t>(population_.choose(random))];
    auto move = next(parent.proposal.kernel, known, random);
    if (!move) {
      ++without;
      continue;
    }
    now.insert(fingerprint(move->kernel));
    names_of_change_[move->kernel] = std::move(move->names);
    proposals.push_back({from, parent.number, std::move(move->change), std::move(move->kernel), parent.proposal.names});
  }
  return proposals;
}

// From the fastest kernel and a few others of the population.
Result<std::vector<Proposal>> Search::descents(SearchOperator from, std::int64_t count, Random& random) {
  std::vector<int> parents{population_.fastest()};
  for (int i = 0; i < other_parents && parents.size() < parents_of_a_descent; ++i)
    if (const int other = population_.choose(random); std::ranges::find(parents, other) == parents.end())
      parents.push_back(other);
  std::vector<std::string> kernels;
  for (const int parent : parents)
    kernels.push_back(outcome_.candidates[static_cast<std::size_t>(parent)].proposal.kernel);
  KW_TRY(const std::vector<KernelLook> looks, look_at(kernels));
  std::vector<DescentStart> starts;
  for (std::size_t i = 0; i < parents.size(); ++i)
    starts.push_back(
        {parents[i], kernels[i], outcome_.candidates[static_cast<std::size_t>(parents[i])].time->us, looks[i]});
  const std::int64_t most_looks = outcome_.looks + options_.looks * count;
  const KnownKernel known = [this](const std::string& kernel) { return known_.contains(fingerprint(kernel)); };
  const DescentLooks looking{[this](const std::vector<std::string>& texts) { return look_at(texts); },
                             [&] { return outcome_.looks < most_looks && !unseen_; }};
  KW_TRY(std::vector<DescentFind> finds, descend(starts, next_move(from), known, looking, random));
  // Agents have a better use for a verdict than a change that makes a kernel slower.
  const double worthwhile_us =
      agents_ == nullptr ? 0 : best_us() * (scorer_.measures() ? measured_hope : modelled_hope);
  std::vector<Proposal> proposals;
  std::vector<std::pair<std::size_t, double>> taken;  // starts and expected times
  for (DescentFind& find : finds) {
    if (static_cast<std::int64_t>(proposals.size()) >= finds_a_verdict * count) break;
    if (worthwhile_us > 0 && find.expected_us > worthwhile_us) break;
    // What the model cannot tell from another change of the same kernel is no news.
    const auto alike = [&](const auto& other) {
      return other.first == find.start && find.expected_us > 0 &&
             std::abs(find.expected_us - other.second) < told_apart * find.expected_us;
    };
    if (std::ranges::any_of(taken, alike)) continue;
    taken.emplace_back(find.start, find.expected_us);
    const Candidate& parent = outcome_.candidates[static_cast<std::size_t>(starts[find.start].parent)];
    names_of_change_[find.move.kernel] = std::move(find.move.names);
    proposals.push_back(
        {from, parent.number, std::move(find.move.change), std::move(find.move.kernel), parent.proposal.names});
  }
  return proposals;
}

std::vector<SearchQuestion> Search::questions(const RoundShares& shares, int round, Random& random) {
  std::vector<SearchQuestion> asked;
  for (const SearchOperator from : {SearchOperator::generator, SearchOperator::optimizer}) {
    const OperatorStanding& standing = outcome_.operators[index_of(from)];
    const double needed = standing.answers_a_kernel();
    const auto kernels = shares[index_of(from)] * std::clamp<std::int64_t>(options_.looks / 2, 1, most_looked_answers);
    auto samples = static_cast<std::int64_t>(static_cast<double>(kernels) * needed);
    for (bool first = true; samples > 0; samples -= samples_of_a_question, first = false) {
      SearchQuestion question;
      question.from = from;
      question.samples = std::min(samples, samples_of_a_question);
      question.temperature = options_.temperature * static_cast<float>(1 + warmer * (needed - 1));
      if (from == SearchOperator::optimizer) {
        question.parent = population_.empty() ? nearest_wrong() : population_.choose(random);
      } else if (!options_.levels.empty() && !(round == 0 && first) && random.uniform() >= share_without_level) {
        const auto last = static_cast<std::int64_t>(options_.levels.size()) - 1;
        question.level = options_.levels[static_cast<std::size_t>(random.integer(0, last))];
      }
      question.seed = random.next();
      asked.push_back(std::move(question));
    }
  }
  return asked;
}

Result<std::vector<Proposal>> Search::agent_proposals(const std::vector<SearchQuestion>& asked, Batch& judging) {
  std::vector<Proposal> proposals;
  if (asked.empty()) return proposals;
  const std::string name = name_of_questions(asked, outcome_.candidates);
  const AnsweredKernels* answers = record_.answers(name);
  if (answers == nullptr) {
    if (spent_) return proposals;
    const auto show = [this](int parent) { return shown(parent); };
    Result<void> taken;
    KW_TRY(auto said, agents_->ask(asked, show, [&] {
      taken = take_verdicts({&judging});
      return taken.ok() && go_on();
    }));
    KW_TRY_VOID(taken);
    if (!said) return proposals;
    KW_TRY_VOID(record_.add_answers(name, std::move(*said)));
    answers = record_.answers(name);
  }
  for (std::size_t i = 0; i < asked.size() && i < answers->size(); ++i) {
    const SearchQuestion& question = asked[i];
    OperatorStanding& standing = outcome_.operators[index_of(question.from)];
    const AskedNames names = question.parent >= 0
                                 ? outcome_.candidates[static_cast<std::size_t>(question.parent)].proposal.names
                                 : AskedNames::learned;
    for (const std::string& kernel : (*answers)[i]) {
      ++standing.answers;
      if (!kernel.empty()) proposals.push_back({question.from, question.parent, question.level, kernel, names});
    }
  }
  return proposals;
}

ShownKernel Search::shown(int candidate) const {
  const Candidate& parent = outcome_.candidates[static_cast<std::size_t>(candidate)];
  ShownKernel shown{
      parent.proposal.kernel, parent.proposal.names, std::make_shared<const Verdict>(known_verdict(parent)), {}};
  for (int at = parent.proposal.parent; at >= 0 && shown.tried.size() < most_tried_shown;) {
    const Candidate& ancestor = outcome_.candidates[static_cast<std::size_t>(at)];
    const Verdict verdict = known_verdict(ancestor);
    shown.tried.push_back({ancestor.strategies, verdict.status, verdict.speedup_naive});
    at = ancestor.proposal.parent;
  }
  std::ranges::reverse(shown.tried);
  return shown;
}

// The one that got furthest, of equals the newest. -1: there is none.
int Search::nearest_wrong() const {
  int nearest = -1;
  for (const Candidate& candidate : outcome_.candidates) {
    if (candidate.right() || !says_something(*candidate.verdict)) continue;
    if (nearest < 0 ||
        rank_of(*candidate.verdict) >= rank_of(*outcome_.candidates[static_cast<std::size_t>(nearest)].verdict))
      nearest = candidate.number;
  }
  return nearest;
}

}  // namespace kw
