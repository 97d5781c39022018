#include "learn/rl/rollout_ahead.h"

#include <chrono>

#include <fmt/format.h>

#include "base/check.h"

namespace kw {

RolloutAhead::RolloutAhead(Place place, std::int64_t first, Curriculum curriculum, std::uint64_t next_episode,
                           std::vector<std::shared_ptr<const StepWeights>> known)
    : place_(std::move(place)),
      next_(first),
      curriculum_(std::move(curriculum)),
      next_episode_(next_episode),
      known_(std::move(known)) {
  KW_CHECK(!known_.empty() && known_.back()->step == first - 1 && place_.learner.sampler() != nullptr);
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

RolloutAhead::~RolloutAhead() = default;

Result<HeldStep> RolloutAhead::take() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !done_.empty(); });
  Result<HeldStep> held = std::move(done_.front());
  done_.pop_front();
  if (held.ok()) held->waited_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return held;
}

void RolloutAhead::publish(StepWeights weights) {
  auto shared = std::make_shared<const StepWeights>(std::move(weights));
  const std::lock_guard lock(mutex_);
  KW_CHECK(shared->step == known_.back()->step + 1);
  known_.push_back(std::move(shared));
  const std::int64_t oldest = known_.back()->step - place_.options.ahead;
  std::erase_if(known_, [&](const auto& each) { return each->step < oldest; });
  changed_.notify_all();
}

std::vector<std::shared_ptr<const StepWeights>> RolloutAhead::older() const {
  const std::lock_guard lock(mutex_);
  return {known_.begin(), known_.end() - 1};
}

// Null: stopped.
std::shared_ptr<const StepWeights> RolloutAhead::wait_for_weights(std::int64_t step, const std::stop_token& stop) {
  const std::int64_t wanted = step - 1 - place_.options.ahead;
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [&] { return known_.back()->step >= wanted; })) return nullptr;
  // A run that began, or began with less ahead, has none that are as old.
  for (const auto& each : known_)
    if (each->step >= wanted) return each;
  return nullptr;
}

Result<HeldStep> RolloutAhead::hold(std::int64_t step, const StepWeights& by, const std::stop_token& stop) {
  const StepSource source{.learner = place_.learner,
                          .judge = place_.judge,
                          .pool = place_.pool,
                          .curriculum = curriculum_,
                          .next_episode = next_episode_,
                          .model = fmt::format("{} {}", place_.options.start, by.history),
                          .store = place_.store_of(step),
                          .pay = place_.pay,
                          .episode = place_.episode,
                          .weights = &by.weights,
                          .stop = stop};
  KW_TRY(StepConversations held, hold_step_conversations(source, place_.options));
  return HeldStep{
      .held = std::move(held), .curriculum = curriculum_, .next_episode = next_episode_, .age = step - 1 - by.step};
}

void RolloutAhead::work(const std::stop_token& stop) {
  const std::int64_t steps = place_.options.steps;
  for (; steps <= 0 || next_ <= steps; ++next_) {
    const auto by = wait_for_weights(next_, stop);
    if (by == nullptr) return;
    Result<HeldStep> held = hold(next_, *by, stop);
    const bool last = !held.ok() || held->held.interrupted;
    {
      const std::lock_guard lock(mutex_);
      done_.push_back(std::move(held));
      changed_.notify_all();
    }
    if (last) return;
  }
}

}  // namespace kw
