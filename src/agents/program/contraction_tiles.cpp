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

ContractionTiles tiles_for(const ContractionSize& size, Arithmetic arithmetic, bool gathered, bool windowed) {
  const bool half = type_of(arithmetic) != Dtype::float32;
  const auto blocks = [&](std::int64_t tile_m, std::int64_t tile_n) {
    return size.batch * pieces(size.rows, tile_m) * pieces(size.cols, tile_n);
  };
  ContractionTiles made;
  made.tile_k = half && !gathered ? 64 : 32;
  made.warps_m = made.warps_n = 2;
  // Two blocks of large tiles fit on a multiprocessor.
  const bool filled = size.rows > 64 && size.cols > 64;
  if (filled && !windowed && blocks(128, 128) >= 2 * multiprocessors * 9 / 10) {
    made.tile_m = made.tile_n = 128;
    made.stages = 3;
    if (size.batch == 1) made.group = 8;
    if (gathered) made.warps_n = 4;  // elements on their way take registers
    return made;
  }
  made.tile_m = made.tile_n = 64;
  made.stages = 4;
  // Parts of fewer steps cost more to add up than they save.
  std::int64_t fewest_steps = 256;
  if (half && !gathered) {
    fewest_steps = 1024;
    if (blocks(64, 64) < multiprocessors && size.depth <= fewest_steps) {
      made.tile_m = 32;
      made.warps_m = 1;
      made.stages = 5;
    } else if (size.rows > 64) {
      made.tile_m = 128;
    }
  }
  made.splits = static_cast<int>(std::clamp<std::int64_t>(2 * multiprocessors / blocks(made.tile_m, made.tile_n), 1,
                                                          std::max<std::int64_t>(size.depth / fewest_steps, 1)));
  return made;
}

}  // namespace kw::program
