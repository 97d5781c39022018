// Constants of contractions: what was fastest on an H200 (bench/results/contraction_h200.md).

#include <algorithm>

#include "agents/program/contraction.h"

namespace kw::program {
namespace {

constexpr std::int64_t multiprocessors = 132;

std::int64_t pieces(std::int64_t extent, std::int64_t tile) { return (extent + tile - 1) / tile; }

}  // namespace

bool pays(const ContractionSize& size) {
  return size.rows >= 16 && size.cols >= 16 && size.depth >= 16 &&
         static_cast<double>(size.batch * size.rows) * static_cast<double>(size.cols * size.depth) >= 0x1p21;
}

ContractionTiles tiles_for(const ContractionSize& size, Arithmetic arithmetic, bool gathered) {
  const std::int64_t large = size.batch * pieces(size.rows, 128) * pieces(size.cols, 128);
  ContractionTiles made;
  made.tile_k = type_of(arithmetic) == Dtype::float32 || gathered ? 32 : 64;
  made.warps_m = made.warps_n = 2;
  // Two blocks of large tiles fit on a multiprocessor.
  if (large >= 2 * multiprocessors * 9 / 10) {
    made.tile_m = made.tile_n = 128;
    made.stages = 3;
    if (gathered) made.warps_n = 4;  // elements on their way take registers
    return made;
  }
  made.tile_m = made.tile_n = 64;
  made.stages = 4;
  const std::int64_t small = size.batch * pieces(size.rows, 64) * pieces(size.cols, 64);
  // Parts of less than 256 steps cost more to add up than they save.
  made.splits = static_cast<int>(
      std::clamp<std::int64_t>(2 * multiprocessors / small, 1, std::max<std::int64_t>(size.depth / 256, 1)));
  return made;
}

}  // namespace kw::program
