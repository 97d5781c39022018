#include "kernel/emulate/block_footprint.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "kernel/emulate/warp.h"

namespace kw {
namespace {

constexpr std::size_t joined_at = 4096;  // ranges: then they are sorted, so that loops do not pile them up
constexpr std::size_t looked_back = 4;   // a loop goes along a few arrays in turns

void add_range(std::vector<AddressRange>& ranges, std::uint64_t begin, std::uint64_t end) {
  for (std::size_t back = 1; back <= std::min(looked_back, ranges.size()); ++back) {
    AddressRange& known = ranges[ranges.size() - back];
    if (known.begin <= begin && end <= known.end) return;
    if (known.end != begin) continue;
    known.end = end;
    return;
  }
  ranges.push_back({begin, end});
}

// Doubling: a block that goes to very many places is sorted a few times only.
void join_many(std::vector<AddressRange>& ranges, std::size_t before) {
  const std::size_t size = ranges.size();
  if (size > before && size >= joined_at && std::bit_floor(size) > before) join_ranges(ranges);
}

void add_lanes(std::vector<AddressRange>& ranges, const ObservedAccess& access) {
  const std::size_t before = ranges.size();
  for (LaneMask left = access.active; left != 0; left &= left - 1) {
    const std::uint64_t begin = access.addresses[static_cast<std::size_t>(__builtin_ctz(left))];
    add_range(ranges, begin, begin + access.bytes);
  }
  join_many(ranges, before);
}

bool writes(const Instruction& in, const Program& program) {
  if (in.flow == Flow::call || in.flow == Flow::branch_table) return true;
  // By its name: forms that write are few, and a new one that is missed only makes skimming less good a guess.
  const std::string& form = program.origins[in.origin].form;
  const auto starts = [&](std::string_view word) { return form.rfind(word, 0) == 0; };
  if (starts("st.") || starts("atom") || starts("red") || starts("wmma.store"))
    return form.find(".shared") == std::string::npos && form.find(".local") == std::string::npos;
  return false;
}

}  // namespace

void join_ranges(std::vector<AddressRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (const AddressRange& range : ranges) {
    if (kept > 0 && range.begin <= ranges[kept - 1].end)
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    else
      ranges[kept++] = range;
  }
  ranges.resize(kept);
}

LaneMask FootprintRecorder::executes(Warp& warp, const Instruction& in, LaneMask /*mask*/, LaneMask active) {
  if (warp.block->number != last_number_ || last_ == nullptr) {
    last_number_ = warp.block->number;
    last_ = &blocks_[last_number_];
  }
  ++last_->warp_instructions;
  if (active == 0 || depth_ == Depth::count) return active;
  if (depth_ == Depth::skim && in.flow == Flow::branch && in.guard != no_predicate) {
    const FunctionCode& function = *warp.frame->function;
    const auto place = static_cast<std::uint32_t>(&in - function.code.data());
    if (in.target <= place && is_idle_loop(*warp.worker->launch->program, function, place)) return 0;
  }
  if (in.flow == Flow::next || in.flow == Flow::warp_sync) note_accesses(warp, in, active);
  return active;
}

bool FootprintRecorder::is_idle_loop(const Program& program, const FunctionCode& function, std::uint32_t branch) {
  auto& known = loops_[&function];
  known.resize(function.code.size());
  if (known[branch] == 0) {
    const auto begin = function.code.begin() + function.code[branch].target, end = function.code.begin() + branch;
    const bool stores = std::any_of(begin, end, [&](const Instruction& in) { return writes(in, program); });
    known[branch] = stores ? 2 : 1;
  }
  return known[branch] == 1;
}

void FootprintRecorder::note_accesses(Warp& warp, const Instruction& in, LaneMask active) {
  std::array<ObservedAccess, most_observed_accesses> accesses;
  const std::size_t count = observed_accesses(warp, in, active, accesses);
  for (std::size_t i = 0; i < count; ++i) {
    const ObservedAccess& access = accesses[i];
    if (access.space != PtxSpace::global || access.active == 0) continue;
    using Kind = ObservedAccess::Kind;
    const bool update = access.kind == Kind::atomic || access.kind == Kind::reduction;
    const bool store = update || access.kind == Kind::store || access.kind == Kind::matrix_store;
    if (store) add_lanes(last_->stored, access);
    if (update) add_lanes(last_->updated, access);
    if (!store || update) note_lacking(access, last_->lacked);
    if (!store && depth_ == Depth::whole) note_loaded(access, last_->loaded);
  }
}

// What the host has cleared is defined, and yet another block may have been the one to write it.
void FootprintRecorder::note_loaded(const ObservedAccess& access, std::vector<AddressRange>& into) const {
  const Allocation* allocation = nullptr;
  const std::size_t before = into.size();
  for (LaneMask left = access.active; left != 0; left &= left - 1) {
    const std::uint64_t address = access.addresses[static_cast<std::size_t>(__builtin_ctz(left))];
    if (allocation == nullptr || !allocation->holds(address, access.bytes)) allocation = memory_.find(address);
    if (allocation == nullptr || allocation->right != MemoryAccessRight::read_write) continue;
    add_range(into, address, address + access.bytes);
  }
  join_many(into, before);
}

void FootprintRecorder::note_lacking(const ObservedAccess& access, std::vector<AddressRange>& into) const {
  const Allocation* allocation = nullptr;
  const std::size_t before = into.size();
  for (LaneMask left = access.active; left != 0; left &= left - 1) {
    const std::uint64_t address = access.addresses[static_cast<std::size_t>(__builtin_ctz(left))];
    if (allocation == nullptr || !allocation->holds(address, access.bytes)) allocation = memory_.find(address);
    if (allocation == nullptr || !allocation->holds(address, access.bytes)) continue;
    if (allocation->fully_defined || allocation->defined == nullptr) continue;
    const std::byte* defined = allocation->defined.get() + (address - allocation->base);
    const bool whole =
        std::all_of(defined, defined + access.bytes, [](std::byte mark) { return mark == std::byte{1}; });
    if (!whole) add_range(into, address, address + access.bytes);
  }
  join_many(into, before);
}

std::map<std::uint64_t, BlockFootprint> FootprintRecorder::take() {
  for (auto& [number, footprint] : blocks_) {
    join_ranges(footprint.stored);
    join_ranges(footprint.updated);
    join_ranges(footprint.lacked);
    join_ranges(footprint.loaded);
  }
  last_ = nullptr;
  return std::exchange(blocks_, {});
}

}  // namespace kw
