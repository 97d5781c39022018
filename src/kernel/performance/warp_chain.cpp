#include "kernel/performance/warp_chain.h"

#include <algorithm>
#include <deque>

namespace kw {
namespace {

constexpr int unrolled_iterations = 4;  // by ptxas, on top of what the front end has unrolled

class WarpClock {
 public:
  WarpClock(const StaticCode& code, const DeviceProfile& profile, const ChainLatencies& latencies, BlockTrace& trace,
            std::uint32_t warp)
      : code_(&code),
        profile_(&profile),
        latencies_(latencies),
        trace_(&trace),
        entries_(&trace.warps[warp]),
        ready_(code.registers, 0.0) {}

  // Runs to behind the next barrier, or to the end. False: it had ended before.
  bool advance() {
    at_barrier_ = false;
    if (next_ >= entries_->size()) return false;
    while (next_ < entries_->size() && !at_barrier_) step((*entries_)[next_++]);
    close_region();
    return true;
  }

  bool at_barrier() const { return at_barrier_; }
  double time() const { return region_start_; }
  double weighted_time() const { return weighted_; }
  double weight() const { return weight_; }
  void wait_until(double time, double weighted) {
    region_start_ = region_end_ = time;
    weighted_ = weighted;
  }

 private:
  void close_region() {
    weighted_ += (region_end_ - region_start_) * weight_;
    region_start_ = region_end_;
    slots_ = 0;
    last_store_ = 0;
  }

  bool through_l1(const TraceEntry& entry) const {
    if (entry.accesses == 0) return false;
    const TraceAccess& access = trace_->accesses[entry.access];
    return access.sectors != 0 && access.kind == ObservedAccess::Kind::load;
  }

  double access_latency(const TraceEntry& entry, const StaticInstruction& known) const {
    double latency = known.latency_cycles * profile_->instruction_latency_factor;
    for (std::uint32_t i = 0; i < entry.accesses; ++i) {
      const TraceAccess& access = trace_->accesses[entry.access + i];
      double here = 0;
      if (access.space == PtxSpace::shared) {
        here = profile_->shared_latency_cycles + access.wavefronts;
        if (access.same_address > 1)
          here += access.same_address *
                  (known.float_atomic ? profile_->shared_atomic_loop_cycles : profile_->shared_atomic_cycles);
      } else if (access.space == PtxSpace::global || access.space == PtxSpace::local) {
        const bool atomic = access.kind == ObservedAccess::Kind::atomic;
        if (access.kind == ObservedAccess::Kind::store || access.kind == ObservedAccess::Kind::matrix_store ||
            access.kind == ObservedAccess::Kind::reduction)
          continue;
        here = atomic                      ? profile_->l2_latency_cycles
               : access.missed_sectors > 0 ? latencies_.missed_cycles
                                           : profile_->l1_latency_cycles;
        here += std::max<double>({access.lines / profile_->l1_lines_per_cycle,
                                  access.sectors / profile_->l1_sectors_per_cycle, 1.0 * access.bank_passes});
      } else {
        here = profile_->l1_latency_cycles * 0.5 + access.wavefronts;
      }
      latency = std::max(latency, here);
    }
    return latency;
  }

  void step(const TraceEntry& entry) {
    const StaticInstruction& known = code_->instructions[entry.instruction];
    // Iterations that ptxas puts together are one basic block.
    if (known.unrolled_loop && known.loop < 0)
      iteration_ = after_unrolled_branch_ ? (iteration_ + 1) % unrolled_iterations : 0;
    const bool goes_on = known.unrolled_loop && known.loop < 0 && iteration_ != 0;
    if ((known.starts_region && !goes_on) || entry.weight != weight_) close_region();
    after_unrolled_branch_ = known.unrolled_loop && known.loop >= 0;
    weight_ = entry.weight;
    double issue = region_start_ + slots_;
    for (std::uint32_t source : known.reads) issue = std::max(issue, ready_[source]);
    if (known.ordered_load) issue = std::max(issue, last_store_);
    if (known.copy_wait) issue = std::max(issue, copies_done(*known.instruction));
    slots_ += known.issue_slots;
    for (std::uint32_t i = 0; i < entry.accesses; ++i) trace_->accesses[entry.access + i].issued_at = issue;
    const double latency =
        known.memory ? access_latency(entry, known) : known.latency_cycles * profile_->instruction_latency_factor;
    const bool asynchronous = known.memory && known.instruction->flow == Flow::next && known.writes.empty();
    double ready = issue + known.issue_slots + latency;
    if (through_l1(entry)) {
      // The L1 answers in the order in which it is asked: a hit waits for an earlier miss.
      ready = std::max(ready, last_return_);
      last_return_ = ready;
    }
    for (std::uint32_t target : known.writes) ready_[target] = ready;
    if (asynchronous) open_copies_ = std::max(open_copies_, issue + latency);
    if (known.copy_commit) {
      groups_.push_back(open_copies_);
      open_copies_ = 0;
    }
    if (known.store) last_store_ = issue;
    region_end_ = std::max(region_end_, issue + known.issue_slots);
    const bool removed = after_unrolled_branch_ && iteration_ + 1 < unrolled_iterations;
    if (known.instruction->flow == Flow::branch && entry.lanes != 0 && !removed && !known.predicated)
      region_end_ += profile_->branch_cycles;
    if (known.barrier) at_barrier_ = true;
  }

  double copies_done(const Instruction& wait) {
    const std::size_t keep = wait.immediate < 0 ? 0 : static_cast<std::size_t>(wait.immediate);
    double done = wait.immediate < 0 ? open_copies_ : 0;
    while (groups_.size() > keep) {
      done = std::max(done, groups_.front());
      groups_.pop_front();
    }
    return done;
  }

  const StaticCode* code_;
  const DeviceProfile* profile_;
  ChainLatencies latencies_;
  BlockTrace* trace_;
  const std::vector<TraceEntry>* entries_;
  std::size_t next_ = 0;
  std::vector<double> ready_;
  std::deque<double> groups_;  // cp.async: when each committed group has arrived
  double open_copies_ = 0;
  double region_start_ = 0, region_end_ = 0, slots_ = 0, last_store_ = 0;
  double last_return_ = 0;
  double weighted_ = 0;
  float weight_ = 1;
  bool at_barrier_ = false;
  int iteration_ = 0;  // of those that are unrolled together
  bool after_unrolled_branch_ = false;
};

}  // namespace

double block_chain(const StaticCode& code, const DeviceProfile& profile, BlockTrace& trace,
                   const ChainLatencies& latencies) {
  std::vector<WarpClock> clocks;
  for (std::uint32_t warp = 0; warp < trace.warps.size(); ++warp)
    clocks.emplace_back(code, profile, latencies, trace, warp);
  double end = 0;
  for (bool any = true; any;) {
    any = false;
    double latest = 0, latest_weighted = 0, weight = 1;
    for (WarpClock& clock : clocks) {
      if (!clock.advance()) continue;
      any = true;
      end = std::max(end, clock.weighted_time());
      if (!clock.at_barrier()) continue;
      latest = std::max(latest, clock.time());
      latest_weighted = std::max(latest_weighted, clock.weighted_time());
      weight = std::max(weight, clock.weight());
    }
    for (WarpClock& clock : clocks)
      if (clock.at_barrier())
        clock.wait_until(latest + profile.barrier_cycles, latest_weighted + weight * profile.barrier_cycles);
  }
  return end + profile.block_start_cycles + static_cast<double>(trace.warps.size()) * profile.warp_start_cycles;
}

}  // namespace kw
