#pragma once
// What one piece of work for an untrusted caller may cost: one account of work in units, charged where it is spent, and
// one of memory that is held. Units are counted, not timed, so that a verdict does not depend on what else the machine
// does; the wall clock is looked at too, as the last resort. Everybody who works for the caller charges the account and
// stops when it says so: nothing is ever interrupted from outside.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw {

// What units are spent on.
enum class WorkKind : std::uint8_t {
  instructions,    // of emulated warps
  blocks,          // started: registers, shared and local memory made new
  launches,        // planned or executed
  memory_bytes,    // set, copied, compared
  allocations,     // of device memory
  launcher_steps,  // of the launcher's interpreter
  code_bytes,      // of PTX that is read and decoded
  model_entries,   // instructions and accesses that the performance model replays
};
inline constexpr std::size_t work_kinds = 8;
std::string_view name_of(WorkKind kind);

struct WorkLimits {
  std::uint64_t units = 0;       // one unit is about a nanosecond of one core
  std::uint64_t held_bytes = 0;  // of memory at the same time
  std::chrono::milliseconds wall{0};
};

// What is over its limit, and by how much.
struct ExceededLimit {
  enum class What : std::uint8_t { work, memory, wall_clock };
  What what = What::work;
  std::string message;
  std::string advice;
};

class WorkBudget {
 public:
  // The clock runs from here.
  explicit WorkBudget(const WorkLimits& limits);
  WorkBudget(const WorkBudget&) = delete;
  WorkBudget& operator=(const WorkBudget&) = delete;

  // From any number of threads; `amount` is what a person would count (bytes, blocks), `units` what it costs. False
  // when it is more than is left, or a limit was exceeded before: then whatever it is for must not be done, or must
  // end.
  bool charge(WorkKind kind, std::uint64_t amount, std::uint64_t units);
  // As charge, but nothing is spent yet: for work of which a part is as good as none.
  bool affords(WorkKind kind, std::uint64_t amount, std::uint64_t units);
  // Memory that is kept until it is released. False: it must not be allocated, and must not be released either.
  bool hold(std::uint64_t bytes);
  void release(std::uint64_t bytes);

  // Whoever works without charging for long asks this now and then; it looks at the clock.
  bool may_go_on();
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  std::optional<ExceededLimit> exceeded() const;
  Error exceeded_error() const;  // the same, for those who fail because of it

  // The time that something took which is not the caller's fault, such as preparations for all callers.
  void forgive(std::chrono::steady_clock::duration time);
  std::chrono::milliseconds wall_left() const;

  const WorkLimits& limits() const { return limits_; }
  std::uint64_t spent() const { return units_.load(std::memory_order_relaxed); }
  std::uint64_t left() const;
  std::uint64_t spent_on(WorkKind kind) const;
  std::uint64_t amount_of(WorkKind kind) const;
  std::uint64_t memory_left() const { return limits_.held_bytes - held_.load(std::memory_order_relaxed); }
  std::uint64_t most_held_bytes() const { return most_held_.load(std::memory_order_relaxed); }

 private:
  void exceed(ExceededLimit limit);
  std::string work_message(WorkKind kind, std::uint64_t amount, std::uint64_t units) const;

  const WorkLimits limits_;
  std::atomic<std::int64_t> deadline_ns_;  // of the steady clock
  std::atomic<std::uint64_t> units_{0};
  std::array<std::atomic<std::uint64_t>, work_kinds> units_by_kind_{};
  std::array<std::atomic<std::uint64_t>, work_kinds> amounts_{};
  std::atomic<std::uint64_t> held_{0};
  std::atomic<std::uint64_t> most_held_{0};
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;  // guards `exceeded_`
  std::optional<ExceededLimit> exceeded_;
};

// Memory held for as long as this lives. Without a budget everything is allowed.
class HeldMemory {
 public:
  HeldMemory() = default;
  explicit HeldMemory(WorkBudget* budget) : budget_(budget) {}
  HeldMemory(HeldMemory&& other) noexcept;
  HeldMemory& operator=(HeldMemory&& other) noexcept;
  ~HeldMemory() { release(); }

  bool add(std::uint64_t bytes);
  void release();

 private:
  WorkBudget* budget_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace kw
