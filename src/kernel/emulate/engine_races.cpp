// Time, for the race checks: what is ordered before what.

#include <algorithm>

#include "kernel/emulate/warp.h"

namespace kw {
namespace {

// Time has run out of bits: start again, keeping what still matters (accesses since the last barrier, and that other
// blocks have accessed).
void renumber(Worker& worker, RaceEntries& entries, RaceEntry block_start, RaceEntry barrier) {
  for (RaceEntry& entry : entries) {
    RaceEntry low = entry & ((1 << race_time_shift) - 1);
    RaceEntry time = 0;
    if (entry >= barrier)
      time = 4;
    else if (entry >= block_start)
      time = 3;
    else if (entry >= worker.launch_time)
      time = 2;
    entry = time == 0 ? 0 : (time << race_time_shift) | low;
  }
}

}  // namespace

void tick(Worker& worker) {
  ++worker.race_time;
  if (worker.race_time < race_time_limit) return;
  worker.later_writes.lose();
  worker.unreleased.clear();
  Block* block = worker.current;
  RaceEntry start = block != nullptr ? block->start_time : 0;
  RaceEntry barrier = block != nullptr ? block->barrier_time : 0;
  for (RaceGranules& granules : worker.races) {
    worker.unpaid.units += granules.writers.size();
    renumber(worker, granules.writers, start, barrier);
    renumber(worker, granules.readers, start, barrier);
  }
  worker.race_time = 5;
  worker.launch_time = 2 << race_time_shift;
  for (Block* resident : worker.resident) {
    // Other blocks under way lose their history: races may be missed, none is invented.
    if (resident == block) {
      renumber(worker, resident->shared_races.writers, start, barrier);
      renumber(worker, resident->shared_races.readers, start, barrier);
    } else {
      std::fill(resident->shared_races.writers.begin(), resident->shared_races.writers.end(), 0);
      std::fill(resident->shared_races.readers.begin(), resident->shared_races.readers.end(), 0);
    }
    resident->acquired_time =
        resident->acquired_time >= resident->start_time ? 3 << race_time_shift : worker.launch_time;
    resident->start_time = 3 << race_time_shift;
    resident->released_time = 5 << race_time_shift;
    resident->barrier_time = 4 << race_time_shift;
    for (Warp& warp : resident->warps) {
      warp.moment.warp_sync = 5 << race_time_shift;
      if (warp.acquired_time != 0) warp.acquired_time = 5 << race_time_shift;
      if (warp.partial_time != 0) warp.partial_time = 5 << race_time_shift;
    }
  }
}

void refresh_moment(Warp& warp) {
  const Block& block = *warp.block;
  RaceMoment& moment = warp.moment;
  moment.now = warp.worker->race_time << race_time_shift;
  moment.barrier = std::max(block.barrier_time, warp.acquired_time);
  moment.block_start = block.start_time;
  moment.launch_start = block.acquired_time;
  if (moment.warp_sync < moment.barrier) moment.warp_sync = moment.barrier;
}

void order_warp(Warp& warp) {
  if (!warp.touched_memory) return;
  warp.touched_memory = false;
  tick(*warp.worker);
  warp.moment.warp_sync = warp.worker->race_time << race_time_shift;
  refresh_moment(warp);
}

void order_block(Block& block) {
  tick(*block.worker);
  block.barrier_time = block.worker->race_time << race_time_shift;
  for (Warp& warp : block.warps) warp.partners = 0;
}

// PTX ISA 9.0, 9.7.13.1: a barrier with a number of threads orders the accesses of those that take part, and nobody
// else's. Who was ordered with one of them before is ordered with all of them now.
void order_warps(Block& block, std::uint32_t warps) {
  tick(*block.worker);
  std::uint32_t together = warps;
  for (const Warp& warp : block.warps)
    if ((warps >> warp.index & 1) != 0) together |= warp.partners;
  for (Warp& warp : block.warps) {
    if ((warps >> warp.index & 1) == 0) continue;
    warp.partners = together;
    warp.partial_time = block.worker->race_time << race_time_shift;
  }
}

// PTX ISA 9.0, 8.8 "Release and acquire patterns": a fence orders only together with the strong access that publishes,
// a release before it and an acquire behind it. Which access that is cannot be told, so that everything which one block
// did before its release counts as ordered for a block that acquires; inside of a block, everything that other warps
// did before for the warp that acquires. Races may be missed, none is invented.
void acquire(Warp& warp, bool device_wide) {
  if (!warp.worker->launch->program->fences_order) return;
  tick(*warp.worker);
  warp.acquired_time = warp.worker->race_time << race_time_shift;
  if (device_wide) warp.block->acquired = true;
  refresh_moment(warp);
}

void release(Warp& warp, bool device_wide) {
  if (!warp.worker->launch->program->fences_order) return;
  tick(*warp.worker);
  if (device_wide) warp.block->released_time = warp.worker->race_time << race_time_shift;
  refresh_moment(warp);
}

void fence(Warp& warp, bool device_wide) {
  acquire(warp, device_wide);
  if (device_wide) warp.block->released_time = warp.worker->race_time << race_time_shift;
}

void end_releases(Block& block) {
  if (block.worker->launch->program->fences_order)
    block.worker->unreleased.emplace_back(block.released_time, block.worker->race_time << race_time_shift);
}

namespace {

// Of another block's access: has that block released it, and this one acquired?
bool handed_over(const Warp& warp, RaceEntry entry) {
  const Block& block = *warp.block;
  if (!block.acquired || entry >= block.start_time) return false;
  const RaceEntry time = entry & ~((1 << race_time_shift) - 1);
  const auto& tails = warp.worker->unreleased;
  const auto tail = std::lower_bound(tails.begin(), tails.end(), time,
                                     [](const auto& each, RaceEntry wanted) { return each.second < wanted; });
  return tail == tails.end() || time < tail->first;
}

// Of an access of this block: has a barrier of a part of the block ordered it?
bool ordered_in_part(const Warp& warp, RaceEntry entry) {
  if (warp.partners == 0 || entry < warp.block->start_time || entry >= warp.partial_time) return false;
  return (warp.partners >> (static_cast<std::uint32_t>(entry >> 6) & 31) & 1) != 0;
}

}  // namespace

bool unordered_write(const Warp& warp, const RaceMoment& moment, RaceEntry writer, RaceEntry self) {
  return race_conflict(writer, self, moment) && !handed_over(warp, writer) && !ordered_in_part(warp, writer);
}

bool unordered_read(const Warp& warp, const RaceMoment& moment, RaceEntry reader, RaceEntry self) {
  if (race_conflict(reader, self, moment)) return !handed_over(warp, reader) && !ordered_in_part(warp, reader);
  // When earlier blocks have read it is not known any more.
  return !warp.block->acquired && race_reader_conflict(reader, self, moment);
}

}  // namespace kw
