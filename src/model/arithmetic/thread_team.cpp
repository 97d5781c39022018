#include "model/arithmetic/thread_team.h"

#include <sched.h>

#include <chrono>
#include <span>
#include <thread>
#include <vector>

#include "base/check.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto spin_time = std::chrono::microseconds(50);  // a layer's next product comes sooner; sleeping costs ~5 us

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// True as soon as `done` is; false when it was not within spin_time.
template <class Done>
bool spin(const Done& done) {
  for (int i = 0; i < 64; ++i) {
    if (done()) return true;
    relax();
  }
  const auto until = Clock::now() + spin_time;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      relax();
    }
  } while (Clock::now() < until);
  return false;
}

// Numbers of the cores that this process may use.
std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) cores.push_back(core);
  if (cores.empty()) cores.push_back(0);
  return cores;
}

// Of the calling thread. What fails is not needed.
void stay_on(std::span<const int> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  static_cast<void>(::sched_setaffinity(0, sizeof set, &set));
}

}  // namespace

// The run in progress is one word: its generation, whether threads may still join, and how many are in it. A thread
// that wakes late finds the run closed and never sees its body; so the caller waits only for those that did join.
struct ThreadTeam::State {
  static constexpr std::uint64_t closed = 1ull << 31, count_mask = closed - 1;

  alignas(64) std::atomic<std::uint64_t> run{closed};  // generation << 32 | closed | threads in it
  alignas(64) std::atomic<std::int64_t> next{0};       // the next part
  alignas(64) std::atomic<std::uint32_t> epoch{0};     // generation that threads wait for
  std::atomic<int> sleepers{0};
  std::atomic<bool> stop{false};
  const std::function<void(std::int64_t)>* body = nullptr;
  std::int64_t parts = 0;
  std::vector<std::thread> threads;

  void work(const std::function<void(std::int64_t)>& what, std::int64_t count) {
    for (std::int64_t part = 0; (part = next.fetch_add(1, std::memory_order_relaxed)) < count;) what(part);
  }

  void join_run(std::uint32_t generation) {
    std::uint64_t word = run.load(std::memory_order_acquire);
    do {
      if (static_cast<std::uint32_t>(word >> 32) != generation || (word & closed) != 0) return;
    } while (!run.compare_exchange_weak(word, word + 1, std::memory_order_acquire));
    work(*body, parts);
    run.fetch_sub(1, std::memory_order_release);
  }

  void live() {
    std::uint32_t seen = 0;
    while (true) {
      if (!spin([&] { return epoch.load(std::memory_order_acquire) != seen; })) {
        sleepers.fetch_add(1);
        epoch.wait(seen);
        sleepers.fetch_sub(1);
      }
      if (stop.load()) return;
      const std::uint32_t now = epoch.load(std::memory_order_acquire);
      if (now == seen) continue;
      seen = now;
      join_run(now);
    }
  }

  void announce() {
    epoch.fetch_add(1);
    if (sleepers.load() > 0) epoch.notify_all();
  }
};

ThreadTeam::ThreadTeam(int threads) : state_(std::make_unique<State>()) {
  const std::vector<int> cores = usable_cores();
  if (threads <= 0) threads = static_cast<int>(cores.size());
  // Schedulers of virtual machines may put threads that wake each other on one core to save another. Where every thread
  // can have a core, each stays on its own, and the caller is moved off theirs, free to go where it will.
  const bool spread = threads > 1 && static_cast<std::size_t>(threads) <= cores.size();
  for (int i = 1; i < threads; ++i) {
    const int core = cores[static_cast<std::size_t>(i) % cores.size()];
    state_->threads.emplace_back([state = state_.get(), spread, core] {
      if (spread) stay_on(std::span(&core, 1));
      state->live();
    });
  }
  if (spread) {
    stay_on(std::span(cores).first(1));
    stay_on(cores);
  }
}

ThreadTeam::~ThreadTeam() {
  state_->stop.store(true);
  state_->announce();
  for (std::thread& thread : state_->threads) thread.join();
}

int ThreadTeam::size() const { return static_cast<int>(state_->threads.size()) + 1; }

void ThreadTeam::run(std::int64_t parts, const std::function<void(std::int64_t part)>& body) {
  State& s = *state_;
  if (s.threads.empty() || parts <= 1) {
    for (std::int64_t part = 0; part < parts; ++part) body(part);
    return;
  }
  KW_CHECK((s.run.load(std::memory_order_relaxed) & State::closed) != 0);  // run() within a body
  s.body = &body;
  s.parts = parts;
  s.next.store(0, std::memory_order_relaxed);
  const std::uint32_t generation = s.epoch.load(std::memory_order_relaxed) + 1;
  s.run.store(static_cast<std::uint64_t>(generation) << 32, std::memory_order_release);
  s.announce();
  s.work(body, parts);
  s.run.fetch_or(State::closed, std::memory_order_acq_rel);
  const auto left = [&] { return (s.run.load(std::memory_order_acquire) & State::count_mask) == 0; };
  if (spin(left)) return;
  while (!left()) std::this_thread::yield();  // a thread of ours was descheduled: let it run
}

}  // namespace kw
