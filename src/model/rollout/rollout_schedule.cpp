// Which sequences have pages, and which tokens a step takes.

#include <algorithm>

#include "base/check.h"
#include "model/rollout/rollout_state.h"

namespace kw {

bool Rollout::Younger::operator()(const Sequence* a, const Sequence* b) const {
  if (a->group->id != b->group->id) return a->group->id < b->group->id;
  return a->sample < b->sample;
}

std::int64_t Rollout::budget() const { return std::min(options_.step_tokens, decoder_.most_tokens()); }

std::int64_t Rollout::most_running() const { return std::min(options_.most_running, budget()); }

std::int64_t Rollout::pages_for(std::int64_t tokens) const {
  return (tokens + decoder_.page_tokens() - 1) / decoder_.page_tokens();
}

// One page is left over for a trunk's last one, which its sample has a copy of.
std::int64_t Rollout::room() const { return std::min(decoder_.context(), (pool_.size() - 1) * decoder_.page_tokens()); }

void Rollout::flush_if_weights_changed() {
  const std::int64_t version = decoder_.weights_version();
  if (version == weights_version_) return;
  weights_version_ = version;
  ++statistics_.flushes;
  const std::vector<Sequence*> running(running_.begin(), running_.end());
  for (Sequence* sequence : running) preempt(*sequence);
}

// Whether it is the first that everything else has to make way for.
bool Rollout::is_oldest(const Sequence& sequence) const {
  if (groups_.begin()->second.get() != sequence.group) return false;
  for (const auto& sample : sequence.group->samples) {
    if (!sample->done) return sequence.sample <= sample->sample;
  }
  return false;
}

void Rollout::drop_pages(Sequence& sequence) {
  for (const std::int32_t page : sequence.pages) pool_.release(page);
  sequence.pages.clear();
  sequence.computed = 0;
}

void Rollout::preempt(Sequence& sequence) {
  drop_pages(sequence);
  running_.erase(&sequence);
  if (!sequence.trunk()) waiting_.insert(&sequence);  // a trunk is started again when a sample asks for it
}

// Only sequences younger than this one make room, the youngest first. A trunk is older than its samples, so it goes
// after them.
bool Rollout::make_room(std::int64_t pages, const Sequence& sequence, bool evict) {
  while (pool_.free() < pages) {
    if (!evict || running_.empty()) return false;
    Sequence* youngest = *running_.rbegin();
    if (!Younger{}(&sequence, youngest)) return false;
    preempt(*youngest);
    ++statistics_.preemptions;
  }
  return true;
}

void Rollout::take_pages(Sequence& sequence, std::int64_t tokens) {
  while (static_cast<std::int64_t>(sequence.pages.size()) < pages_for(tokens)) {
    const auto page = pool_.take();
    KW_CHECK(page.has_value());
    sequence.pages.push_back(*page);
  }
}

// The sample begins with the pages of its prompt; the last of them, where it is not full, becomes its own.
Result<void> Rollout::fork(Sequence& sequence, const Sequence& trunk) {
  const auto full = static_cast<std::size_t>(trunk.computed / decoder_.page_tokens());
  for (std::size_t i = 0; i < full; ++i) {
    pool_.share(trunk.pages[i]);
    sequence.pages.push_back(trunk.pages[i]);
  }
  if (trunk.computed % decoder_.page_tokens() != 0) {
    take_pages(sequence, trunk.computed);
    auto copied = decoder_.copy_page(trunk.pages[full], sequence.pages[full]);
    if (!copied.ok()) {
      drop_pages(sequence);
      return copied;
    }
    ++statistics_.copied_pages;
  }
  sequence.computed = trunk.computed;
  sequence.most_computed = std::max(sequence.most_computed, sequence.computed);
  return {};
}

// Gives a waiting sample the pages for the tokens it has, or starts the trunk that it needs first.
Result<Rollout::Start> Rollout::start(Sequence& sequence) {
  const bool oldest = is_oldest(sequence);
  // Answers in progress will want pages soon; without some left over, the newcomer would be sent back at once.
  const std::int64_t spare = oldest ? 0 : static_cast<std::int64_t>(running_.size()) / 4;
  Sequence* trunk = sequence.group->trunk.get();
  if (trunk != nullptr && !running_.contains(trunk)) {
    if (sequence.group->unfinished > 1) {
      const auto tokens = static_cast<std::int64_t>(trunk->tokens.size());
      if (!make_room(pages_for(tokens) + spare, *trunk, oldest)) return Start::no_room;
      take_pages(*trunk, tokens);
      running_.insert(trunk);
      pending_tokens_ += trunk->left();
      ++active_;
      return Start::later;
    }
    trunk = nullptr;  // nobody to share with
  }
  if (trunk != nullptr && trunk->left() > 0) return Start::later;

  const auto tokens = static_cast<std::int64_t>(sequence.tokens.size());
  const std::int64_t shared = trunk == nullptr ? 0 : trunk->computed / decoder_.page_tokens();
  if (!make_room(pages_for(tokens) - shared + spare, sequence, oldest)) return Start::no_room;
  if (trunk != nullptr) KW_TRY_VOID(fork(sequence, *trunk));
  take_pages(sequence, tokens);
  waiting_.erase(&sequence);
  running_.insert(&sequence);
  pending_tokens_ += sequence.left();
  ++active_;
  return Start::now;
}

// Oldest first, and none before an older one that does not fit, or it would never have its turn.
Result<void> Rollout::admit() {
  pending_tokens_ = 0;
  active_ = 0;
  for (const Sequence* sequence : running_) {
    pending_tokens_ += sequence->left();
    active_ += sequence->left() > 0;  // a trunk that is done takes no part in steps
  }
  // Those that are sent back meanwhile come into the set behind the one that sent them.
  for (auto place = waiting_.begin(); place != waiting_.end();) {
    if (pending_tokens_ >= budget() || active_ >= most_running()) break;
    Sequence& sequence = **place++;
    KW_TRY(const Start started, start(sequence));
    if (started == Start::no_room) break;
  }
  return {};
}

std::vector<Rollout::Planned> Rollout::plan() {
  std::vector<Planned> planned;
  std::int64_t left = budget();
  const std::vector<Sequence*> order(running_.begin(), running_.end());
  for (Sequence* sequence : order) {
    // One may have been sent back by an older one of this very loop. Prompts have had their pages from the start.
    if (!running_.contains(sequence) || sequence->left() == 0) continue;
    const auto tokens = static_cast<std::int64_t>(sequence->tokens.size());
    const std::int64_t missing = pages_for(tokens) - static_cast<std::int64_t>(sequence->pages.size());
    if (missing > 0 && !make_room(missing, *sequence, true)) {
      KW_CHECK(!is_oldest(*sequence));  // room() sees to it
      preempt(*sequence);
      ++statistics_.preemptions;
      continue;
    }
    take_pages(*sequence, tokens);
  }
  for (Sequence* sequence : order) {
    if (left == 0) break;
    if (!running_.contains(sequence) || sequence->left() != 1) continue;
    planned.push_back({sequence, 1});
    --left;
  }
  for (Sequence* sequence : order) {
    if (left == 0) break;
    if (!running_.contains(sequence) || sequence->left() <= 1) continue;
    const std::int64_t count = std::min(left, sequence->left());
    planned.push_back({sequence, count});
    left -= count;
  }
  return planned;
}

}  // namespace kw
