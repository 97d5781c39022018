#include "kernel/judge/read_marks.h"

#include <algorithm>

namespace kw {

ReadMarks::ReadMarks(const std::vector<AddressRange>& inputs) {
  for (const AddressRange& range : inputs) inputs_.push_back({range, std::vector<bool>(range.end - range.begin)});
}

void ReadMarks::mark(std::uint64_t address, std::uint64_t bytes) {
  for (Marked& input : inputs_) {
    if (address < input.range.begin || address >= input.range.end) continue;
    const std::uint64_t first = address - input.range.begin;
    const std::uint64_t end = std::min(first + bytes, input.range.end - input.range.begin);
    for (std::uint64_t i = first; i < end; ++i) input.bytes[i] = true;
    return;
  }
}

LaneMask ReadMarks::executes(Warp& warp, const Instruction& instruction, LaneMask /*mask*/, LaneMask active) {
  if (active != 0) {
    std::array<ObservedAccess, most_observed_accesses> accesses;
    const std::size_t count = observed_accesses(warp, instruction, active, accesses);
    for (std::size_t i = 0; i < count; ++i) {
      const ObservedAccess& access = accesses[i];
      using Kind = ObservedAccess::Kind;
      const bool load =
          access.kind == Kind::load || access.kind == Kind::matrix_load || access.kind == Kind::copy_async;
      if (access.space != PtxSpace::global || !load) continue;
      for (LaneMask lanes = access.active; lanes != 0; lanes &= lanes - 1)
        mark(access.addresses[static_cast<std::size_t>(__builtin_ctz(lanes))], access.bytes);
    }
  }
  return active;
}

double ReadMarks::share() const {
  double read = 0, all = 0;
  for (const Marked& input : inputs_) {
    read += static_cast<double>(std::count(input.bytes.begin(), input.bytes.end(), true));
    all += static_cast<double>(input.bytes.size());
  }
  return all > 0 ? read / all : 0;
}

}  // namespace kw
