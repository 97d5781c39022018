// The steps of a round: which proposals are new, their verdicts, measurements, and what becomes of them.

#include <algorithm>
#include <chrono>
#include <numeric>

#include "agents/episode/episode.h"
#include "agents/search/search.h"
#include "base/check.h"
#include "kernel/source/fingerprint.h"

namespace kw {
namespace {

constexpr int tag_bits = 32;
constexpr std::chrono::milliseconds patience{200};
// Of a limit that was undercut.
constexpr double below_limit = 0.03;
// Kernels of agents that may still get a verdict.
constexpr std::size_t most_waiting = 256;
// With a filter, beyond those that were earned.
constexpr std::int64_t measurements_of_races = 2;

std::vector<std::size_t> in_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

// "block 256" and "block 128" are the same thing at two times.
std::string without_digits(std::string name) {
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name;
}

bool cannot_be_emulated(const Verdict& verdict) { return verdict.status == VerdictStatus::unsupported; }

}  // namespace

double Search::best_us() const {
  if (!outcome_.best) return 0;
  const auto& time = outcome_.candidates[static_cast<std::size_t>(*outcome_.best)].time;
  return time ? time->us : 0;
}

// Compiled and modelled are those that the record does not know.
Result<std::vector<KernelLook>> Search::look_at(const std::vector<std::string>& kernels) {
  std::vector<std::string> unknown;
  for (const std::string& kernel : kernels)
    if (record_.look(kernel) == nullptr && std::ranges::find(unknown, kernel) == unknown.end())
      unknown.push_back(kernel);
  if (!unknown.empty() && go_on())
    KW_TRY_VOID(record_.add_looks(unknown, scorer_.look_at(unknown, options_.looks > 0)));
  std::vector<KernelLook> looks;
  for (const std::string& kernel : kernels) {
    const KernelLook* look = record_.look(kernel);
    looks.push_back(look == nullptr ? KernelLook{} : *look);
    unseen_ = unseen_ || look == nullptr;
    if (options_.looks > 0 && look != nullptr && looked_.insert(kernel).second) ++outcome_.looks;
  }
  return looks;
}

Prospect Search::prospect_of(const Proposal& proposal, const KernelLook& look) const {
  Prospect prospect{std::string(to_string(proposal.from)), "", look.modelled_us, look.built()};
  // An agent may write the very text of a change.
  const auto names = needs_no_agent(proposal.from) ? names_of_change_.find(proposal.kernel) : names_of_change_.end();
  if (names != names_of_change_.end()) {
    for (const std::string& name : names->second) prospect.kind += without_digits(name) + ";";
    const Candidate& parent = outcome_.candidates.at(static_cast<std::size_t>(proposal.parent));
    const KernelLook* before = record_.look(parent.proposal.kernel);
    if (parent.time && before != nullptr && before->modelled_us > 0)
      prospect.expected_us = parent.time->us * look.modelled_us / before->modelled_us;
    return prospect;
  }
  const std::vector<Strategy> strategies = strategies_of(proposal.kernel);
  prospect.kind = proposal.change + ": " + to_string(strategies);
  if (reads_less(look, least_read_)) prospect.kind = "reads less";
  if (scorer_.measures() && look.modelled_us > 0)
    prospect.expected_us = filter_.expected_us(strategies, -1, look.modelled_us);
  return prospect;
}

// Of those that are new, text and code, the first `most`; where the model has looked at them, the most promising, and
// what is left over of the agents' waits for another round. Their judgements begin.
Result<Search::Batch> Search::begin_batch(std::vector<Proposal> proposals, std::int64_t most, BatchOf of) {
  const bool choosy = options_.looks > 0 && of != BatchOf::given;
  std::vector<Proposal> fresh;
  if (of == BatchOf::agents) fresh.swap(waiting_);
  for (Proposal& proposal : proposals) {
    OperatorStanding& standing = outcome_.operators[index_of(proposal.from)];
    if (of != BatchOf::agents) ++standing.answers;  // an agent's answer counts without a kernel, too
    // A change of constants may be proposed again as long as it has no verdict.
    const std::string name = fingerprint(proposal.kernel);
    if (of == BatchOf::agents ? !known_.insert(name).second : known_.contains(name)) continue;
    ++standing.fresh;
    fresh.push_back(std::move(proposal));
  }
  std::vector<std::string> kernels;
  kernels.reserve(fresh.size());
  for (const Proposal& proposal : fresh) kernels.push_back(proposal.kernel);
  KW_TRY(const std::vector<KernelLook> looks, look_at(kernels));
  Batch batch;
  for (const std::size_t i : choosy ? by_promise(fresh, looks) : in_order(fresh.size())) {
    if (static_cast<std::int64_t>(batch.proposals.size()) >= most) {
      if (choosy && of == BatchOf::agents && waiting_.size() < most_waiting) waiting_.push_back(std::move(fresh[i]));
      continue;
    }
    if (of != BatchOf::agents && !known_.insert(fingerprint(fresh[i].kernel)).second) continue;
    if (looks[i].built() && !codes_.insert(looks[i].code).second) {
      ++outcome_.twins;
      --outcome_.operators[index_of(fresh[i].from)].fresh;
      continue;
    }
    auto verdict = record_.verdict(fresh[i].kernel, 0);
    const std::size_t place = batch.proposals.size();
    if (verdict == nullptr) {
      if (spent_) continue;
      ++batch.missing;
      scorer_.judge(fresh[i].kernel, box_.slot(static_cast<std::uint64_t>(of) << tag_bits | place));
    }
    batch.verdicts.push_back(std::move(verdict));
    batch.proposals.push_back(std::move(fresh[i]));
  }
  return batch;
}

std::vector<std::size_t> Search::by_promise(const std::vector<Proposal>& proposals,
                                            const std::vector<KernelLook>& looks) const {
  std::vector<Prospect> prospects;
  for (std::size_t i = 0; i < proposals.size(); ++i) prospects.push_back(prospect_of(proposals[i], looks[i]));
  return most_promising(prospects, best_us(), odds_, static_cast<std::int64_t>(prospects.size()));
}

// They are recorded as they come, so that a search that is killed loses none.
Result<void> Search::take_verdicts(std::vector<Batch*> batches) {
  for (VerdictBox::Judged& judged : box_.take()) {
    Batch& batch = *batches.at(batches.size() == 1 ? 0 : judged.tag >> tag_bits);
    const std::size_t place = judged.tag & ((std::uint64_t{1} << tag_bits) - 1);
    KW_TRY_VOID(record_.add_verdict(batch.proposals.at(place).kernel, 0, judged.verdict));
    batch.verdicts.at(place) = std::move(judged.verdict);
    --batch.missing;
  }
  return {};
}

Result<void> Search::wait_for(std::vector<Batch*> batches) {
  const auto missing = [&] {
    std::size_t sum = 0;
    for (const Batch* batch : batches) sum += batch->missing;
    return sum;
  };
  while (missing() > 0) {
    box_.wait(patience);
    KW_TRY_VOID(take_verdicts(batches));
    if (missing() > 0 && !go_on()) {
      scorer_.drop_waiting();
      box_ = VerdictBox();  // what is still being judged reports to the old one
      return {};
    }
  }
  return {};
}

// In the order of the proposals, whatever was judged first. What was cut off leaves no candidate.
void Search::settle(Batch batch, std::vector<int>& fresh) {
  for (std::size_t i = 0; i < batch.proposals.size(); ++i) {
    if (batch.verdicts[i] == nullptr) continue;
    Candidate candidate;
    candidate.number = static_cast<int>(outcome_.candidates.size());
    candidate.proposal = std::move(batch.proposals[i]);
    candidate.verdict = std::move(batch.verdicts[i]);
    candidate.strategies = strategies_of(candidate.proposal.kernel);
    if (rank_of(*candidate.verdict).right) candidate.time = verdict_time(*candidate.verdict);
    ++outcome_.verdicts;
    OperatorStanding& standing = outcome_.operators[index_of(candidate.proposal.from)];
    ++standing.verdicts;
    const bool right = rank_of(*candidate.verdict).right;
    if (right) ++standing.right;
    if (candidate.verdict->compiled) {
      const KernelLook* look = record_.look(candidate.proposal.kernel);
      const Prospect prospect = prospect_of(candidate.proposal, look == nullptr ? KernelLook{} : *look);
      odds_.learn(prospect.group, prospect.kind, right);
    }
    if (const auto names = names_of_change_.find(candidate.proposal.kernel); names != names_of_change_.end())
      for (const std::string& name : names->second) {
        if (candidate.proposal.from != SearchOperator::constants) break;
        ++constants_[name].tried;
        if (candidate.verdict->correct) ++constants_[name].right;
      }
    if (const KernelLook* look = record_.look(candidate.proposal.kernel); look != nullptr && right)
      if (least_read_.input_bytes == 0 || (look->modelled_us > 0 && look->input_bytes < least_read_.input_bytes))
        least_read_ = *look;
    fresh.push_back(candidate.number);
    outcome_.candidates.push_back(std::move(candidate));
  }
}

// Measurements that the right kernels so far have earned. It may take a few kernels until there is another.
std::int64_t Search::measurements_earned() const {
  std::int64_t right = 0;
  for (const Candidate& candidate : outcome_.candidates)
    if (rank_of(*candidate.verdict).right || cannot_be_emulated(*candidate.verdict)) ++right;
  return 1 + static_cast<std::int64_t>(options_.measured_share * static_cast<double>(right));
}

// The first ancestor: kernels that differ from it by small changes share the model's error.
int Search::family_of(const Candidate& candidate) const {
  const Candidate* at = &candidate;
  while (needs_no_agent(at->proposal.from) && at->proposal.parent >= 0)
    at = &outcome_.candidates[static_cast<std::size_t>(at->proposal.parent)];
  return at->number;
}

// Of all right kernels that were never measured, those that promise most.
Result<void> Search::measure_promising(const std::vector<int>& fresh) {
  std::vector<FilteredKernel> right;
  const bool all = options_.filter <= 0;
  for (const Candidate& candidate : outcome_.candidates) {
    if (!candidate.measured.empty()) continue;
    if (all && std::ranges::find(fresh, candidate.number) == fresh.end()) continue;
    if (const Verdict& verdict = *candidate.verdict; rank_of(verdict).right || cannot_be_emulated(verdict))
      right.push_back({&candidate, family_of(candidate)});
  }
  const auto most = std::max<std::int64_t>(measurements_earned() - outcome_.measurements, 0);
  std::vector<int> chosen;
  for (const Candidate* candidate : filter_.promising(right, best_us(), options_.filter, most))
    chosen.push_back(candidate->number);
  KW_TRY_VOID(measure_once(chosen));
  for (const int number : chosen) {
    const Candidate& candidate = outcome_.candidates[static_cast<std::size_t>(number)];
    const auto modelled = verdict_time(*candidate.verdict);
    if (!candidate.measured.empty() && candidate.time && modelled)
      filter_.learn(candidate, family_of(candidate), modelled->us, candidate.time->us);
  }
  // What the others may be expected to take has changed.
  for (Candidate& candidate : outcome_.candidates) {
    const auto modelled = verdict_time(*candidate.verdict);
    if (!candidate.measured.empty() || !candidate.time || !modelled) continue;
    const double us = filter_.expected_us(candidate.strategies, family_of(candidate), modelled->us);
    candidate.time = KnownTime{us, {us, us}, false, 0};
    population_.update(candidate);
  }
  return {};
}

// Times of the new candidates, and their places in the population.
Result<void> Search::measure(const std::vector<int>& fresh) {
  if (scorer_.measures()) KW_TRY_VOID(measure_promising(fresh));
  for (const int number : fresh) place(number);
  return scorer_.measures() ? race() : Result<void>();
}

// One measurement more of each.
Result<void> Search::measure_once(const std::vector<int>& candidates) {
  std::size_t missing = 0;
  const auto take = [&](int number, int measurement, std::shared_ptr<const Verdict> verdict) -> Result<void> {
    Candidate& candidate = outcome_.candidates[static_cast<std::size_t>(number)];
    KW_TRY_VOID(record_.add_verdict(candidate.proposal.kernel, measurement, verdict));
    // Our own fault says nothing about the kernel: its time stays what it was.
    if (verdict->status == VerdictStatus::internal_error) return {};
    ++outcome_.measurements;
    const bool right = rank_of(*verdict).right;
    candidate.measured.push_back(std::move(verdict));
    candidate.time = right ? measured_time(candidate.measured) : std::nullopt;
    population_.update(candidate);
    return {};
  };
  for (const int number : candidates) {
    const Candidate& candidate = outcome_.candidates[static_cast<std::size_t>(number)];
    const int measurement = static_cast<int>(candidate.measured.size()) + 1;
    if (auto known = record_.verdict(candidate.proposal.kernel, measurement)) {
      KW_TRY_VOID(take(number, measurement, std::move(known)));
    } else if (!spent_) {
      ++missing;
      scorer_.measure(candidate.proposal.kernel, box_.slot(static_cast<std::uint64_t>(number)));
    }
  }
  while (missing > 0) {
    box_.wait(patience);
    for (VerdictBox::Judged& judged : box_.take()) {
      const auto number = static_cast<int>(judged.tag);
      const auto done = outcome_.candidates[static_cast<std::size_t>(number)].measured.size();
      KW_TRY_VOID(take(number, static_cast<int>(done) + 1, std::move(judged.verdict)));
      --missing;
    }
    if (missing > 0 && !go_on()) {
      scorer_.drop_waiting();
      box_ = VerdictBox();
      return {};
    }
  }
  return {};
}

// Whoever seems to be faster than the best one is measured again, together with it, until it is clear who is.
Result<void> Search::race() {
  std::set<int> passed;  // that have had their chance
  for (;;) {
    const Candidate* best = outcome_.best ? &outcome_.candidates[static_cast<std::size_t>(*outcome_.best)] : nullptr;
    if (best != nullptr && !best->time) {  // it turned out to be wrong
      outcome_.best.reset();
      best = nullptr;
    }
    const Candidate* challenger = nullptr;
    for (const Candidate& candidate : outcome_.candidates) {
      if (!candidate.time || !candidate.time->measured || &candidate == best || passed.contains(candidate.number))
        continue;
      if (best != nullptr && candidate.time->us >= best->time->us) continue;
      if (challenger == nullptr || candidate.time->us < challenger->time->us) challenger = &candidate;
    }
    if (challenger == nullptr) return {};
    if (best == nullptr || clearly_faster(*challenger->time, *best->time)) {
      propose_best(challenger->number);
      continue;
    }
    const bool too_many = options_.filter > 0 && outcome_.measurements >= measurements_earned() + measurements_of_races;
    if (!undecided(*challenger->time, *best->time) || spent_ || too_many) {
      passed.insert(challenger->number);
      continue;
    }
    const int before = challenger->time->measurements + best->time->measurements;
    std::vector<int> again;
    for (const Candidate* one : {challenger, best})
      if (one->time->measurements < most_measurements) again.push_back(one->number);
    const int number = challenger->number;
    KW_TRY_VOID(measure_once(again));
    const Candidate& after = outcome_.candidates[static_cast<std::size_t>(number)];
    const Candidate& champion = outcome_.candidates[static_cast<std::size_t>(*outcome_.best)];
    const bool moved = !after.time || !champion.time || after.time->measurements + champion.time->measurements > before;
    if (!moved) passed.insert(number);  // nobody could measure
  }
}

// Into the population; without measurements also to the top.
void Search::place(int number) {
  const Candidate& candidate = outcome_.candidates[static_cast<std::size_t>(number)];
  if (!candidate.right()) return;
  note_limit(candidate);
  if (population_.add(candidate) == Population::Place::leads)
    ++outcome_.operators[index_of(candidate.proposal.from)].leads;
  if (!scorer_.measures()) propose_best(number);
}

// A task that needs only a part of its inputs has another limit, and nobody knows which.
void Search::note_limit(const Candidate& candidate) {
  const bool sure = candidate.time->measured || !scorer_.measures();
  if (sure && candidate.time->us < outcome_.limit.us * (1 - below_limit)) outcome_.limit = {};
}

void Search::propose_best(int number) {
  const Candidate& candidate = outcome_.candidates[static_cast<std::size_t>(number)];
  note_limit(candidate);
  if (outcome_.best) {
    const Candidate& best = outcome_.candidates[static_cast<std::size_t>(*outcome_.best)];
    if (best.time && !clearly_faster(*candidate.time, *best.time)) return;
  }
  outcome_.best = number;
  ++outcome_.operators[index_of(candidate.proposal.from)].bests;
  verdicts_at_gain_ = outcome_.verdicts;
  outcome_.gains.push_back({number, number + 1, outcome_.measurements, seconds(), candidate.time->us});
  if (hooks_.on_gain) hooks_.on_gain(outcome_, candidate);
}

}  // namespace kw
