// The steps of a round: which proposals are new, their verdicts, measurements, and what becomes of them.

#include <algorithm>
#include <chrono>

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

bool cannot_be_emulated(const Verdict& verdict) { return verdict.status == VerdictStatus::unsupported; }

}  // namespace

// Compiled are those that the record does not know.
Result<std::vector<std::string>> Search::codes_of(const std::vector<std::string>& kernels) {
  std::vector<std::string> unknown;
  for (const std::string& kernel : kernels)
    if (record_.code(kernel) == nullptr && std::ranges::find(unknown, kernel) == unknown.end())
      unknown.push_back(kernel);
  if (!unknown.empty() && !spent_) KW_TRY_VOID(record_.add_codes(unknown, scorer_.code_of(unknown)));
  std::vector<std::string> codes;
  for (const std::string& kernel : kernels) {
    const std::string* code = record_.code(kernel);
    codes.push_back(code == nullptr ? "" : *code);
  }
  return codes;
}

// The first `most` that are new, text and code. Their judgements begin.
Result<Search::Batch> Search::begin_batch(std::vector<Proposal> proposals, std::int64_t most, std::uint64_t tag) {
  std::vector<Proposal> fresh;
  std::vector<std::string> kernels;
  for (Proposal& proposal : proposals) {
    if (proposal.from == SearchOperator::constants || proposal.from == SearchOperator::given)
      ++outcome_.operators[index_of(proposal.from)].answers;
    if (!known_.insert(fingerprint(proposal.kernel)).second) continue;
    kernels.push_back(proposal.kernel);
    fresh.push_back(std::move(proposal));
  }
  KW_TRY(const std::vector<std::string> codes, codes_of(kernels));
  Batch batch;
  for (std::size_t i = 0; i < fresh.size() && static_cast<std::int64_t>(batch.proposals.size()) < most; ++i) {
    if (!codes[i].empty() && !codes_.insert(codes[i]).second) {
      ++outcome_.twins;
      continue;
    }
    auto verdict = record_.verdict(fresh[i].kernel, 0);
    const std::size_t place = batch.proposals.size();
    if (verdict == nullptr) {
      if (spent_) continue;
      ++batch.missing;
      scorer_.judge(fresh[i].kernel, box_.slot(tag << tag_bits | place));
    }
    batch.verdicts.push_back(std::move(verdict));
    batch.proposals.push_back(std::move(fresh[i]));
  }
  return batch;
}

// They are recorded as they come, so that a search that is killed loses none.
Result<void> Search::take_verdicts(std::vector<Batch*> batches) {
  for (VerdictBox::Judged& judged : box_.take()) {
    Batch& batch = *batches.at(judged.tag >> tag_bits);
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
    if (rank_of(*candidate.verdict).right) ++standing.right;
    if (const auto names = names_of_change_.find(candidate.proposal.kernel); names != names_of_change_.end())
      for (const std::string& name : names->second) {
        ++constants_[name].tried;
        if (candidate.verdict->correct) ++constants_[name].right;
      }
    fresh.push_back(candidate.number);
    outcome_.candidates.push_back(std::move(candidate));
  }
}

// Times of the new candidates, and their places in the population.
Result<void> Search::measure(const std::vector<int>& fresh) {
  const auto at = [&](int number) -> Candidate& { return outcome_.candidates[static_cast<std::size_t>(number)]; };
  if (scorer_.measures()) {
    std::vector<const Candidate*> right;
    for (const int number : fresh)
      if (const Verdict& verdict = *at(number).verdict; rank_of(verdict).right || cannot_be_emulated(verdict))
        right.push_back(&at(number));
    const bool any = outcome_.best.has_value();
    const double best_us = any ? at(*outcome_.best).time->us : 0;
    std::vector<int> chosen;
    for (const Candidate* candidate : filter_.promising(right, best_us, options_.filter))
      chosen.push_back(candidate->number);
    KW_TRY_VOID(measure_once(chosen));
    for (const int number : fresh) {
      Candidate& candidate = at(number);
      const auto modelled = verdict_time(*candidate.verdict);
      if (candidate.measured.empty() && candidate.time) {
        const double us = filter_.expected_us(candidate.strategies, candidate.time->us);
        candidate.time = KnownTime{us, {us, us}, false, 0};
      } else if (candidate.time && modelled) {
        filter_.learn(candidate, modelled->us, candidate.time->us);
      }
    }
  }
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
    if (!undecided(*challenger->time, *best->time) || spent_) {
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
  // A task that needs only a part of its inputs has another limit, and nobody knows which.
  const bool sure = candidate.time->measured || !scorer_.measures();
  if (sure && candidate.time->us < outcome_.limit.us * (1 - below_limit)) outcome_.limit = {};
  if (population_.add(candidate) == Population::Place::leads)
    ++outcome_.operators[index_of(candidate.proposal.from)].leads;
  if (!scorer_.measures()) propose_best(number);
}

void Search::propose_best(int number) {
  const Candidate& candidate = outcome_.candidates[static_cast<std::size_t>(number)];
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
