#include "kernel/emulate/racy_values.h"

#include <algorithm>

#include "kernel/emulate/lane_bits.h"
#include "kernel/emulate/warp.h"

namespace kw {
namespace {

constexpr std::size_t most_later_writes = 1'000'000;
constexpr std::uint64_t other_blocks = ~std::uint64_t{0};

std::uint64_t space_key(const Warp& warp, const MemoryView& view) {
  if (view.shared) return warp.block->number << 1 | 1;
  return static_cast<std::uint64_t>(view.allocation->index) << 1;
}

std::uint64_t window_address(const MemoryView& view, std::uint32_t offset) {
  return (view.shared ? window_base(Window::shared) : view.base) + offset;
}

// Of the word at `word`, as bits: which of [offset, offset + bytes) lie in it.
std::uint8_t bytes_in_word(std::uint32_t word, std::uint32_t offset, std::uint32_t bytes) {
  std::uint8_t mask = 0;
  for (std::uint32_t i = 0; i < 4; ++i)
    if (word * 4 + i >= offset && word * 4 + i < offset + bytes) mask |= static_cast<std::uint8_t>(1u << i);
  return mask;
}

RaceMoment moment_in(const Warp& warp, const MemoryView& view) {
  RaceMoment moment = warp.moment;
  if (view.shared) moment.launch_start = moment.block_start;
  return moment;
}

bool overlap(std::uint64_t a, std::uint32_t a_bytes, std::uint64_t b, std::uint32_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

// Nothing that this lane holds comes from a race any more.
void clear_lane(Warp& warp, int lane) {
  const LaneMask others = ~(LaneMask{1} << lane);
  auto clear = [&](Frame& frame) {
    for (LaneMask& mark : frame.undefined) mark &= others;
    for (LaneMask& mark : frame.predicates_undefined) mark &= others;
  };
  clear(*warp.entry);
  for (auto& frame : warp.frames) clear(*frame);
}

void end_decision(RacyValues& racy, const RacyValues::Decision& decision, bool updated) {
  RacyValues::Side& side = racy.decisions[{decision.branch, decision.taken}];
  ++(updated ? side.updated : side.left);
}

}  // namespace

std::size_t LaterWrites::Hash::operator()(const Key& key) const {
  std::uint64_t mixed = (key.space * 0x9e3779b97f4a7c15u) ^ (key.block * 0xbf58476d1ce4e5b9u) ^ key.word;
  mixed = (mixed ^ (mixed >> 29)) * 0x94d049bb133111ebu;
  return static_cast<std::size_t>(mixed ^ (mixed >> 32));
}

bool LaterWrites::add(const Key& key, const Write& write) {
  if (overflown_) return false;
  std::vector<Write>& known = writes_[key];
  // Between two barriers (and between blocks) one is enough.
  if (!known.empty() && (key.block == other_blocks || known.back().interval == write.interval)) {
    Write& last = known.back();
    last.warp_sync = std::min(last.warp_sync, write.warp_sync);
    last.barrier = std::min(last.barrier, write.barrier);
    last.until = std::max(last.until, write.until);
    if (last.thread != write.thread) last.thread = Write::several;
    last.bytes |= write.bytes;
    last.strong = last.strong && write.strong;
    return true;
  }
  known.push_back(write);
  overflown_ = ++count_ > most_later_writes;
  return !overflown_;
}

const LaterWrites::Write* LaterWrites::find(const Key& key, RaceEntry now, RaceEntry thread, std::uint8_t bytes) const {
  const auto known = writes_.find(key);
  if (known == writes_.end()) return nullptr;
  // Times grow, and each write ends before the next barrier.
  const auto write = std::lower_bound(known->second.begin(), known->second.end(), now,
                                      [](const Write& each, RaceEntry time) { return each.until < time; });
  if (write == known->second.end() || write->barrier > now || (write->bytes & bytes) == 0) return nullptr;
  if (write->thread == Write::several) return &*write;
  const RaceEntry difference = (write->thread ^ thread) & race_thread_bits;
  if (difference > race_lane_bits) return &*write;
  return difference != 0 && write->warp_sync <= now ? &*write : nullptr;
}

const LaterWrites::Write* LaterWrites::find_other_block(const Key& key, RaceEntry now, std::uint8_t bytes) const {
  const auto known = writes_.find(key);
  if (known == writes_.end() || known->second.empty()) return nullptr;
  const Write& write = known->second.front();
  return now >= write.barrier && now < write.until && (write.bytes & bytes) != 0 ? &write : nullptr;
}

void note_later_write(Warp& warp, const MemoryView& view, int lane, std::uint32_t offset, std::uint32_t bytes,
                      RaceEntry reader, bool strong) {
  const RaceMoment moment = moment_in(warp, view);
  const RaceEntry self = moment.warp | lane;
  RaceMoment within = moment;
  within.launch_start = within.block_start;
  LaterWrites::Key key{space_key(warp, view), warp.block->number, 0};
  LaterWrites::Write write;
  write.strong = strong;
  for (key.word = offset / 4; key.word <= (offset + bytes - 1) / 4; ++key.word) {
    write.bytes = bytes_in_word(key.word, offset, bytes);
    if (race_conflict(reader, self, within)) {
      write.interval = warp.block->barrier_time;
      write.barrier = moment.barrier;
      write.warp_sync = moment.warp_sync;
      write.until = moment.now;
      write.thread = self & race_thread_bits;
      key.block = warp.block->number;
      warp.worker->later_writes.add(key, write);
    }
    const bool other_block = reader >= moment.launch_start && reader < moment.block_start;
    if (moment.launch_start < moment.block_start && (other_block || (reader & race_flag) != 0)) {
      // What a block that has acquired may still not write over was read after its reader's last release.
      const RaceEntry time = reader & ~((1 << race_time_shift) - 1);
      write.barrier = warp.block->acquired ? time : moment.launch_start;
      write.until = warp.block->acquired ? time + (1 << race_time_shift) : moment.block_start;
      key.block = other_blocks;
      warp.worker->later_writes.add(key, write);
    }
  }
}

ReadRace racing_read(Warp& warp, const MemoryView& view, int lane, std::uint32_t offset, std::uint32_t bytes,
                     bool strong_read) {
  const RaceMoment moment = moment_in(warp, view);
  const RaceEntry self = moment.warp | lane;
  RacyValues& racy = *warp.worker->racy;
  ReadRace race = ReadRace::none;
  auto races_with = [&](bool strong) {
    race = !strong || race == ReadRace::plain ? ReadRace::plain : ReadRace::strong;
  };
  const RaceGranules& races = *view.races;
  for (std::uint32_t granule = offset >> races.shift; granule <= (offset + bytes - 1) >> races.shift; ++granule)
    if (unordered_write(warp, moment, races.writers[granule], self))
      races_with((races.writers[granule] & race_flag) != 0);
  LaterWrites::Key key{space_key(warp, view), warp.block->number, 0};
  for (key.word = offset / 4; key.word <= (offset + bytes - 1) / 4; ++key.word) {
    const std::uint8_t part = bytes_in_word(key.word, offset, bytes);
    key.block = warp.block->number;
    if (const auto* write = racy.later->find(key, moment.now, self, part)) races_with(write->strong);
    if (view.shared) continue;
    key.block = other_blocks;
    if (const auto* write = racy.later->find_other_block(key, moment.now, part)) races_with(write->strong);
  }
  if (race == ReadRace::none) return race;
  RacyValues::WarpState& state = racy.warps[&warp];
  // Wider reads than 8 bytes are not single-copy atomic with anything.
  if (race == ReadRace::plain || bytes > 8) {
    state.certain |= LaneMask{1} << lane;
    return ReadRace::plain;
  }
  const std::uint64_t address = window_address(view, offset);
  auto known = std::find_if(state.guesses.begin(), state.guesses.end(), [&](const RacyValues::Guess& guess) {
    return guess.lane == lane && guess.address == address && guess.bytes == bytes;
  });
  if (known == state.guesses.end()) known = state.guesses.insert(known, {lane, address, bytes, false});
  // A volatile (or relaxed) read may be waited upon; as a value it still is whatever the order of threads made of it.
  known->checked = strong_read;
  return race;
}

void hold_racy_value(Warp& warp, LaneMask lanes) { warp.worker->racy->warps[&warp].certain |= lanes; }

void use_racy_value(Warp& warp, const Instruction& in, LaneMask lanes, RacyUse use, LaneMask taken) {
  RacyValues& racy = *warp.worker->racy;
  const auto found = racy.warps.find(&warp);
  bool used = use == RacyUse::other || found == racy.warps.end() || (found->second.certain & lanes) != 0;
  if (!used) {
    RacyValues::WarpState& state = found->second;
    for_lanes(lanes, [&](int lane) {
      bool guessed = false;
      for (const RacyValues::Guess& guess : state.guesses) {
        if (guess.lane != lane) continue;
        guessed = true;
        if (!guess.checked)
          state.decisions.push_back({lane, guess.address, guess.bytes, in.origin, ((taken >> lane) & 1) != 0});
      }
      used = used || !guessed;
    });
  }
  if (!used) return;
  racy.used = true;
  if (warp.worker->stop == StopReason::none) warp.worker->stop = StopReason::settled;
}

void check_guess(Warp& warp, const MemoryView& view, int lane, std::uint32_t offset, std::uint32_t bytes, bool equal) {
  RacyValues& racy = *warp.worker->racy;
  const auto found = racy.warps.find(&warp);
  if (found == racy.warps.end()) return;
  RacyValues::WarpState& state = found->second;
  const std::uint64_t address = window_address(view, offset);
  std::erase_if(state.decisions, [&](const RacyValues::Decision& decision) {
    if (decision.lane != lane || !overlap(decision.address, decision.bytes, address, bytes)) return false;
    end_decision(racy, decision, true);
    return true;
  });
  bool others = false, confirmed = false;
  std::erase_if(state.guesses, [&](RacyValues::Guess& guess) {
    if (guess.lane != lane) return false;
    if (overlap(guess.address, guess.bytes, address, bytes)) {
      guess.checked = true;
      confirmed = confirmed || equal;
      if (equal) return true;
    }
    others = true;
    return false;
  });
  if (confirmed && !others && ((state.certain >> lane) & 1) == 0) clear_lane(warp, lane);
}

void end_guesses(RacyValues& racy, const Warp* warp) {
  const auto found = racy.warps.find(warp);
  if (found == racy.warps.end()) return;
  for (const RacyValues::Decision& decision : found->second.decisions) end_decision(racy, decision, false);
  racy.warps.erase(found);
}

// A guess may decide whether the word is updated at all (`if (value > *most) atomicMax(most, value)`): then everyone
// who goes one of the two ways updates it. Any other decision by a racing value is one too many.
bool racy_values_were_used(RacyValues& racy) {
  while (!racy.warps.empty()) end_guesses(racy, racy.warps.begin()->first);
  for (const auto& [decision, side] : racy.decisions) {
    const auto other = racy.decisions.find({decision.first, !decision.second});
    const bool updates = side.updated > 0 && side.left == 0;
    const bool other_updates = other != racy.decisions.end() && other->second.updated > 0 && other->second.left == 0;
    if (!updates && !other_updates) racy.used = true;
  }
  return racy.used;
}

}  // namespace kw
