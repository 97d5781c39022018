#include "kernel/performance/kernel_counts.h"

#include <vector>

namespace kw {
namespace {

template <class Counts, class Visit>
void for_sums(Counts& counts, Visit visit) {
  for (auto* value :
       {&counts.warp_instructions, &counts.issue_slots, &counts.shared_wavefronts, &counts.shared_atomic_turns,
        &counts.fewest_wavefronts, &counts.requests, &counts.sectors, &counts.l2_load_sectors, &counts.l2_store_sectors,
        &counts.far_sectors, &counts.atomic_sectors, &counts.chain_l2.cycles, &counts.chain_dram.cycles})
    visit(*value);
  for (auto& lanes : counts.pipe_lanes) visit(lanes);
  for (auto* chain : {&counts.chain_l2, &counts.chain_dram})
    for (auto& slope : chain->slopes) visit(slope);
}

}  // namespace

void BlockCounts::add(const BlockCounts& other, double weight) {
  std::vector<double> values;
  for_sums(other, [&](double value) { values.push_back(value); });
  std::size_t at = 0;
  for_sums(*this, [&](double& sum) { sum += weight * values[at++]; });
  for (const auto& [shape, count] : other.accesses) accesses[shape] += weight * count;
  for (const auto& [index, allocation] : other.allocations) {
    AllocationProfile& sum = allocations[index];
    sum.bytes = allocation.bytes;
    sum.use.read += weight * allocation.use.read;
    sum.use.written += weight * allocation.use.written;
  }
}

void BlockCounts::scale(double factor) {
  for_sums(*this, [&](double& value) { value *= factor; });
  for (auto& [shape, count] : accesses) count *= factor;
  for (auto& [index, allocation] : allocations) {
    allocation.use.read *= factor;
    allocation.use.written *= factor;
  }
}

}  // namespace kw
