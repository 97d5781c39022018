#include "kernel/emulate/decode_slots.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string_view>

namespace kw {
namespace {

constexpr std::uint64_t liveness_words = 32'000'000;  // beyond it every register keeps a slot of its own

bool is_data(const PtxFunction& function, int index) {
  return index >= 0 && static_cast<std::size_t>(index) < function.registers.size() &&
         function.registers[index].type != PtxType::pred;
}

void collect(const PtxFunction& function, const PtxOperand& operand, std::vector<int>& into) {
  using Kind = PtxOperand::Kind;
  if ((operand.kind == Kind::reg || operand.kind == Kind::address) && is_data(function, operand.index))
    into.push_back(operand.index);
  for (const PtxOperand& part : operand.parts) collect(function, part, into);
}

struct Interval {
  std::int64_t start = -1;
  std::int64_t end = -1;
  void cover(std::int64_t at) {
    if (start < 0 || at < start) start = at;
    if (at > end) end = at;
  }
};

class BitSets {
 public:
  BitSets(std::size_t sets, std::size_t bits) : words_((bits + 63) / 64), data_(sets * words_, 0) {}
  std::uint64_t* operator[](std::size_t set) { return data_.data() + set * words_; }
  std::size_t words() const { return words_; }
  void add(std::size_t set, int bit) { (*this)[set][bit / 64] |= std::uint64_t{1} << (bit % 64); }
  void remove(std::size_t set, int bit) { (*this)[set][bit / 64] &= ~(std::uint64_t{1} << (bit % 64)); }
  bool has(std::size_t set, int bit) { return ((*this)[set][bit / 64] >> (bit % 64)) & 1; }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> data_;
};

// Registers that arithmetic in f32 or f64 reads or writes, however they are declared.
std::vector<bool> floating_registers(const PtxFunction& function) {
  const auto is_floating = [](PtxType type) { return type == PtxType::f32 || type == PtxType::f64; };
  std::vector<bool> floating(function.registers.size());
  for (std::size_t r = 0; r < floating.size(); ++r) floating[r] = is_floating(function.registers[r].type);
  std::vector<int> used;
  for (const PtxInstruction& instruction : function.body) {
    if (instruction.opcode == "cvt" || !is_floating(instruction.type())) continue;  // cvt's types differ
    used.clear();
    for (const PtxOperand& operand : instruction.operands)
      if (operand.kind != PtxOperand::Kind::address) collect(function, operand, used);
    for (const int r : used) floating[static_cast<std::size_t>(r)] = true;
  }
  return floating;
}

std::vector<Interval> live_intervals(const PtxFunction& function, const std::vector<BasicBlock>& blocks) {
  std::size_t count = function.registers.size();
  BitSets used(blocks.size(), count), killed(blocks.size(), count), live_in(blocks.size(), count);
  std::vector<int> read, written;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::uint32_t i = blocks[b].first; i < blocks[b].end; ++i) {
      registers_of(function, function.body[i], read, written);
      for (int r : read)
        if (!killed.has(b, r)) used.add(b, r);
      // A guarded write leaves the other lanes' values alone.
      if (function.body[i].guard < 0)
        for (int r : written) killed.add(b, r);
    }
  }
  std::size_t words = used.words();
  std::vector<std::uint64_t> out(words);
  auto live_out = [&](std::size_t b) {
    std::fill(out.begin(), out.end(), 0);
    for (std::uint32_t successor : blocks[b].successors)
      for (std::size_t w = 0; w < words; ++w) out[w] |= live_in[successor][w];
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = blocks.size(); b-- > 0;) {
      live_out(b);
      for (std::size_t w = 0; w < words; ++w) {
        std::uint64_t in = used[b][w] | (out[w] & ~killed[b][w]);
        changed |= in != live_in[b][w];
        live_in[b][w] = in;
      }
    }
  }

  std::vector<Interval> intervals(count);
  std::int64_t position = 0;
  auto cover_set = [&](const std::uint64_t* set, std::int64_t at) {
    for (std::size_t w = 0; w < words; ++w)
      for (std::uint64_t bits = set[w]; bits != 0; bits &= bits - 1)
        intervals[w * 64 + static_cast<std::size_t>(std::countr_zero(bits))].cover(at);
  };
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    cover_set(live_in[b], position);
    for (std::uint32_t i = blocks[b].first; i < blocks[b].end; ++i, position += 2) {
      registers_of(function, function.body[i], read, written);
      for (int r : read) intervals[r].cover(position);
      // Written half a step after the reads, so that an instruction may overwrite its own source; operations that move
      // values between lanes or have several results read everything first (see the engine).
      for (int r : written) intervals[r].cover(position + 1);
    }
    live_out(b);
    cover_set(out.data(), position);
  }
  return intervals;
}

}  // namespace

bool has_destination(const PtxInstruction& instruction) {
  static constexpr std::array<std::string_view, 20> without = {
      "st",    "red",      "bra",       "brx",       "ret",     "exit",          "trap",           "membar",
      "fence", "prefetch", "prefetchu", "nanosleep", "discard", "applypriority", "griddepcontrol", "call",
      "brkpt", "pmevent",  "stmatrix",  "setmaxnreg"};
  const std::string& opcode = instruction.opcode;
  if (std::find(without.begin(), without.end(), opcode) != without.end()) return false;
  if (opcode == "bar" || opcode == "barrier") return instruction.has("red");
  if (opcode == "cp") return false;
  if (opcode == "wmma") return !instruction.has("store");
  return true;
}

void registers_of(const PtxFunction& function, const PtxInstruction& instruction, std::vector<int>& read,
                  std::vector<int>& written) {
  read.clear();
  written.clear();
  bool destination = has_destination(instruction);
  for (std::size_t i = 0; i < instruction.operands.size(); ++i)
    collect(function, instruction.operands[i], destination && i == 0 ? written : read);
  for (const PtxOperand& operand : instruction.call_arguments) collect(function, operand, read);
  for (const PtxOperand& operand : instruction.call_returns) collect(function, operand, written);
}

RegisterPlaces place_registers(const PtxFunction& function, const std::vector<BasicBlock>& blocks) {
  RegisterPlaces places;
  std::size_t count = function.registers.size();
  places.slot.assign(count, no_slot);
  places.predicate.assign(count, no_predicate);
  for (std::size_t r = 0; r < count; ++r)
    if (function.registers[r].type == PtxType::pred)
      places.predicate[r] = static_cast<std::int32_t>(places.predicates++);

  auto new_slot = [&](bool wide) {
    Slot slot = places.file_bytes;
    places.file_bytes += wide ? 2 * slot_bytes : slot_bytes;
    return slot;
  };
  auto is_wide = [&](std::size_t r) { return bytes_of(function.registers[r].type) == 8; };

  bool share = std::uint64_t{blocks.size()} * (count / 64 + 1) <= liveness_words;
  if (!share) {
    for (std::size_t r = 0; r < count; ++r)
      if (is_data(function, static_cast<int>(r))) places.slot[r] = new_slot(is_wide(r));
  } else {
    std::vector<Interval> intervals = live_intervals(function, blocks);
    std::vector<std::size_t> by_start;
    for (std::size_t r = 0; r < count; ++r)
      if (is_data(function, static_cast<int>(r)) && intervals[r].start >= 0) by_start.push_back(r);
    std::stable_sort(by_start.begin(), by_start.end(),
                     [&](std::size_t a, std::size_t b) { return intervals[a].start < intervals[b].start; });
    // Narrow and wide never share a slot, because their lanes lie differently. Numbers and integers never do either:
    // an operation computes all 32 lanes and keeps those that are active, and what an integer leaves in the others is a
    // subnormal number, at which Intel's multipliers stop for some 150 cycles (bench/results/emulate.md).
    std::vector<Slot> unused[2][2];
    const std::vector<bool> floating = floating_registers(function);
    const auto pool_of = [&](std::size_t r) -> std::vector<Slot>& { return unused[is_wide(r)][floating[r]]; };
    std::multiset<std::pair<std::int64_t, std::size_t>> active;
    for (std::size_t r : by_start) {
      while (!active.empty() && active.begin()->first < intervals[r].start) {
        std::size_t ended = active.begin()->second;
        pool_of(ended).push_back(places.slot[ended]);
        active.erase(active.begin());
      }
      auto& pool = pool_of(r);
      if (pool.empty()) {
        places.slot[r] = new_slot(is_wide(r));
      } else {
        places.slot[r] = pool.back();
        pool.pop_back();
      }
      active.emplace(intervals[r].end, r);
    }
  }
  places.initially_undefined.assign(places.file_bytes / slot_bytes, all_lanes);
  return places;
}

}  // namespace kw
