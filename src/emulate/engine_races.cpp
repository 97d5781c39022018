// Time, for the race checks: what is ordered before what.

#include "emulate/warp.h"

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
    resident->barrier_time = 4 << race_time_shift;
    for (Warp& warp : resident->warps) warp.moment.warp_sync = 5 << race_time_shift;
  }
}

void refresh_moment(Warp& warp) {
  const Block& block = *warp.block;
  RaceMoment& moment = warp.moment;
  moment.now = warp.worker->race_time << race_time_shift;
  moment.barrier = block.barrier_time;
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
}

void fence(Warp& warp, bool device_wide) {
  if (!warp.worker->launch->program->fences_order) return;
  // A fence orders only together with the atomic or volatile access that publishes; which one that is cannot be told,
  // so that everything before counts as ordered. Races may be missed, none is invented.
  order_block(*warp.block);
  if (device_wide) warp.block->acquired_time = warp.block->start_time;
  refresh_moment(warp);
}

}  // namespace kw
