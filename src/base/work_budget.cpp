#include "base/work_budget.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace kw {
namespace {

// The clock is looked at once for so many units.
constexpr std::uint64_t clock_interval_units = std::uint64_t{1} << 20;

struct KindText {
  std::string_view name;
  std::string_view doing;  // "... went into {doing} (N {things})"
  std::string_view things;
  std::string_view advice;
};

const KindText& text_of(WorkKind kind) {
  static constexpr KindText texts[work_kinds] = {
      {"instructions", "executing instructions", "warp instructions",
       "Look for loops that run far too often; do the work of the naive kernel at most a few times."},
      {"blocks", "starting blocks", "blocks", "Launch fewer blocks, with less shared and local memory each."},
      {"launches", "launching kernels", "launches", "Launch fewer kernels."},
      {"memory_bytes", "setting, copying and comparing memory", "bytes",
       "Set and copy less memory; a kernel can write what is needed."},
      {"allocations", "allocating device memory", "allocations", "Allocate scratch memory once, and less of it."},
      {"launcher_steps", "interpreting the launcher", "steps", "Make the launcher's loops shorter."},
      {"code_bytes", "reading the compiled code", "bytes and instructions of PTX",
       "Unroll less and instantiate fewer kernels."},
      {"model_entries", "modelling the time", "instructions and accesses", "Launch fewer different kernels."},
  };
  return texts[static_cast<std::size_t>(kind)];
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double millions(std::uint64_t units) { return static_cast<double>(units) * 1e-6; }
double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1048576; }

}  // namespace

std::string_view name_of(WorkKind kind) { return text_of(kind).name; }

WorkBudget::WorkBudget(const WorkLimits& limits)
    : limits_(limits), deadline_ns_(now_ns() + std::chrono::nanoseconds(limits.wall).count()) {}

bool WorkBudget::charge(WorkKind kind, std::uint64_t amount, std::uint64_t units) {
  if (stopped()) return false;
  // Added only when it fits, so that what is spent never exceeds the limit.
  std::uint64_t before = units_.load(std::memory_order_relaxed);
  do {
    if (units > limits_.units || before > limits_.units - units) {
      exceed({ExceededLimit::What::work, work_message(kind, amount, units), std::string(text_of(kind).advice)});
      return false;
    }
  } while (!units_.compare_exchange_weak(before, before + units, std::memory_order_relaxed));
  const auto index = static_cast<std::size_t>(kind);
  units_by_kind_[index].fetch_add(units, std::memory_order_relaxed);
  amounts_[index].fetch_add(amount, std::memory_order_relaxed);
  if (before / clock_interval_units != (before + units) / clock_interval_units) return may_go_on();
  return true;
}

bool WorkBudget::affords(WorkKind kind, std::uint64_t amount, std::uint64_t units) {
  if (stopped()) return false;
  if (units <= left()) return true;
  exceed({ExceededLimit::What::work, work_message(kind, amount, units), std::string(text_of(kind).advice)});
  return false;
}

bool WorkBudget::hold(std::uint64_t bytes) {
  if (stopped()) return false;
  std::uint64_t before = held_.load(std::memory_order_relaxed);
  do {
    if (bytes > limits_.held_bytes || before > limits_.held_bytes - bytes) {
      exceed(
          {ExceededLimit::What::memory,
           fmt::format("judging it takes more than the {:.0f} MiB of memory that a judgement may take: {:.0f} MiB are "
                       "in use and another {:.0f} MiB are wanted",
                       mebibytes(limits_.held_bytes), mebibytes(before), std::max(mebibytes(bytes), 1.0)),
           "Use less scratch memory, fewer registers, and less shared and local memory. Every byte of device memory "
           "takes several of the judge's."});
      return false;
    }
  } while (!held_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  std::uint64_t most = most_held_.load(std::memory_order_relaxed);
  while (before + bytes > most && !most_held_.compare_exchange_weak(most, before + bytes, std::memory_order_relaxed)) {
  }
  return true;
}

void WorkBudget::release(std::uint64_t bytes) { held_.fetch_sub(bytes, std::memory_order_relaxed); }

bool WorkBudget::may_go_on() {
  if (stopped()) return false;
  if (now_ns() <= deadline_ns_.load(std::memory_order_relaxed)) return true;
  exceed({ExceededLimit::What::wall_clock,
          fmt::format("the judgement was not finished after {:.0f} seconds; {:.0f} of the {:.0f} million units of work "
                      "that it may take were done",
                      static_cast<double>(limits_.wall.count()) * 1e-3, millions(spent()), millions(limits_.units)),
          "The machine may be too busy: judge it again, or allow more time."});
  return false;
}

std::optional<ExceededLimit> WorkBudget::exceeded() const {
  std::lock_guard lock(mutex_);
  return exceeded_;
}

Error WorkBudget::exceeded_error() const {
  const auto limit = exceeded();
  return limit ? Error{limit->message, limit->advice, {}} : Error{"the work budget is exceeded", "", {}};
}

void WorkBudget::forgive(std::chrono::steady_clock::duration time) {
  deadline_ns_.fetch_add(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(), std::memory_order_relaxed);
}

std::chrono::milliseconds WorkBudget::wall_left() const {
  return std::chrono::milliseconds(std::max<std::int64_t>(deadline_ns_.load(std::memory_order_relaxed) - now_ns(), 0) /
                                   1'000'000);
}

std::uint64_t WorkBudget::left() const { return limits_.units - spent(); }

std::uint64_t WorkBudget::spent_on(WorkKind kind) const {
  return units_by_kind_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
}

std::uint64_t WorkBudget::amount_of(WorkKind kind) const {
  return amounts_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
}

// The first one counts: later ones follow from it.
void WorkBudget::exceed(ExceededLimit limit) {
  std::lock_guard lock(mutex_);
  if (!exceeded_) exceeded_ = std::move(limit);
  stopped_.store(true, std::memory_order_relaxed);
}

std::string WorkBudget::work_message(WorkKind kind, std::uint64_t amount, std::uint64_t units) const {
  const KindText& text = text_of(kind);
  std::string message = fmt::format(
      "judging it takes more than the {:.0f} million units of work that a judgement may take: {:.0f} million are "
      "spent, "
      "and {} ({} {}) takes another {:.0f} million",
      millions(limits_.units), millions(spent()), text.doing, amount, text.things, std::max(millions(units), 1.0));
  WorkKind largest = kind;
  for (std::size_t i = 0; i < work_kinds; ++i)
    if (spent_on(static_cast<WorkKind>(i)) > spent_on(largest)) largest = static_cast<WorkKind>(i);
  const std::uint64_t on_largest = spent_on(largest);
  if (largest != kind && on_largest > units)
    message +=
        fmt::format("; most went into {} ({} {})", text_of(largest).doing, amount_of(largest), text_of(largest).things);
  else if (amount_of(kind) > 0)
    message += fmt::format(", after {} {}", amount_of(kind), text.things);
  return message;
}

HeldMemory::HeldMemory(HeldMemory&& other) noexcept : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}

HeldMemory& HeldMemory::operator=(HeldMemory&& other) noexcept {
  if (this == &other) return *this;
  release();
  budget_ = other.budget_;
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

bool HeldMemory::add(std::uint64_t bytes) {
  if (budget_ == nullptr) return true;
  if (!budget_->hold(bytes)) return false;
  bytes_ += bytes;
  return true;
}

void HeldMemory::release() {
  if (budget_ != nullptr && bytes_ != 0) budget_->release(bytes_);
  bytes_ = 0;
}

}  // namespace kw
