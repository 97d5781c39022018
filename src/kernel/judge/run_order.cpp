#include "kernel/judge/run_order.h"

#include "base/random.h"

namespace kw {
namespace {

constexpr std::uint64_t order_stream = 0x0bde5;
constexpr std::uint64_t place_stream = 0x91ace;
constexpr double natural_share = 0.2;
constexpr double permuted_share = 0.85;         // of the others: warps, and blocks
constexpr std::uint64_t alignment_bytes = 256;  // what cudaMalloc aligns to
constexpr std::int64_t most_places = 512;

}  // namespace

RunOptions RunOrder::apply(RunOptions options) const {
  options.warp_order_seed = warps;
  options.block_order_seed = blocks;
  options.copies_land_early = copies_land_early;
  options.overlap = overlap;
  return options;
}

RunOrder order_for(std::uint64_t case_seed) {
  Random random(case_seed, order_stream);
  RunOrder order;
  if (random.uniform() < natural_share) return order;
  if (random.uniform() < permuted_share) order.warps = random.next() | 1;
  if (random.uniform() < permuted_share) order.blocks = random.next() | 1;
  order.copies_land_early = random.next() % 2 == 0;
  order.overlap = random.next() % 2 == 0;
  return order;
}

std::uint64_t bytes_before_arrays(std::uint64_t case_seed) {
  return alignment_bytes * static_cast<std::uint64_t>(Random(case_seed, place_stream).integer(0, most_places));
}

RunOrder opposite_order() { return {0x5eed1, 0x5eed2, true, true}; }

}  // namespace kw
