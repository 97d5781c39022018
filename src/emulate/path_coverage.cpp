#include "emulate/path_coverage.h"

#include <algorithm>

#include "emulate/warp.h"

namespace kw {
namespace {

enum Seen : std::uint8_t { executed = 1, guard_true = 2, guard_false = 4, select_true = 8, select_false = 16 };

bool inside(const std::vector<AddressRange>& ranges, std::uint64_t address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const AddressRange& range) { return address >= range.begin && address < range.end; });
}

}  // namespace

void PathCoverage::watch(std::vector<AddressRange> inputs, std::vector<AddressRange> outputs) {
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
  loaded_bytes_ = stored_bytes_ = 0;
  storing_blocks_.clear();
}

std::uint8_t& PathCoverage::flags(const Warp& warp, const Instruction& in) {
  const Program* program = warp.worker->launch->program;
  if (program != last_program_) {
    last_program_ = program;
    last_ = &kernels_[program->kernel];
    last_->program = program;
    last_->seen.resize(program->origins.size());
  }
  return last_->seen[in.origin];
}

LaneMask PathCoverage::executes(Warp& warp, const Instruction& in, LaneMask mask, LaneMask active) {
  std::uint8_t seen = 0;
  if (in.guard != no_predicate) {
    seen |= active != 0 ? guard_true : 0;
    seen |= active != mask ? guard_false : 0;
  }
  if (active != 0) {
    seen |= executed;
    if (in.predicate_in != no_predicate) {
      const LaneMask value = warp.predicates[in.predicate_in];
      seen |= (value & active) != 0 ? select_true : 0;
      seen |= (~value & active) != 0 ? select_false : 0;
    }
    if (!inputs_.empty() || !outputs_.empty()) count_access(warp, in, active);
  }
  flags(warp, in) |= seen;
  return active;
}

void PathCoverage::count_access(Warp& warp, const Instruction& in, LaneMask active) {
  std::array<ObservedAccess, most_observed_accesses> accesses;
  const std::size_t count = observed_accesses(warp, in, active, accesses);
  for (std::size_t i = 0; i < count; ++i) {
    const ObservedAccess& access = accesses[i];
    using Kind = ObservedAccess::Kind;
    if (access.space != PtxSpace::global) continue;
    const bool load = access.kind == Kind::load || access.kind == Kind::matrix_load || access.kind == Kind::copy_async;
    // The lanes of one instruction touch one array nearly always: the first one decides.
    const std::uint64_t address = access.addresses[static_cast<std::size_t>(__builtin_ctz(access.active))];
    const std::uint64_t bytes =
        std::uint64_t{access.bytes} * static_cast<std::uint64_t>(__builtin_popcount(access.active));
    if (load && inside(inputs_, address)) loaded_bytes_ += bytes;
    if (!load && inside(outputs_, address)) {
      stored_bytes_ += bytes;
      auto [entry, fresh] = storing_blocks_.try_emplace(warp.block->number, address);
      if (!fresh) entry->second = std::min(entry->second, address);
    }
  }
}

void PathCoverage::merge(const PathCoverage& other) {
  for (const auto& [name, theirs] : other.kernels_) {
    Function& mine = kernels_[name];
    mine.program = theirs.program;
    mine.seen.resize(std::max(mine.seen.size(), theirs.seen.size()));
    for (std::size_t i = 0; i < theirs.seen.size(); ++i) mine.seen[i] |= theirs.seen[i];
  }
}

std::vector<PathCoverage::Place> PathCoverage::missing(const PathCoverage& other) const {
  std::vector<Place> places;
  for (const auto& [name, theirs] : other.kernels_) {
    const auto mine = kernels_.find(name);
    for (std::size_t i = 0; i < theirs.seen.size(); ++i) {
      const std::uint8_t have = mine == kernels_.end() || i >= mine->second.seen.size() ? 0 : mine->second.seen[i];
      const auto lacking = static_cast<std::uint8_t>(theirs.seen[i] & ~have);
      if (lacking == 0) continue;
      const InstructionOrigin& origin = theirs.program->origins[i];
      places.push_back({origin.where.line, origin.form, name, have != 0});
    }
  }
  // Whole instructions that were never executed say more than conditions.
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.condition < b.condition; });
  return places;
}

}  // namespace kw
