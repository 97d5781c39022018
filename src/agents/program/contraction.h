#pragma once
// A stage that is a contraction: a sum over products of two factors, one of which depends on the rows of the result and
// the other on its columns. Matrix products are contractions, batched and transposed ones and convolutions too; what a
// map does with the sum (bias, activation, residual) belongs to the stage.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agents/program/graph.h"

namespace kw::program {

// An offset that grows by a fixed step along each axis.
struct LinearOffset {
  Extent rest;
  std::map<std::int64_t, Extent> steps;  // by axis; those that are not here are 0

  Extent step(std::int64_t axis) const;
};
std::optional<LinearOffset> linear_offset(const Graph& graph, TermId offset);

struct Factor {
  TermId value = -1;  // its loads have one index, their offset
  // Where it is an element of one tensor, at a linear offset, read without a condition.
  NodeId tensor = -1;
  LinearOffset offset;
  // Whether memory has its lines (rows or columns) next to each other, and not the places of the sum.
  bool by_depth = false;
};

// How the products are computed.
enum class Arithmetic : std::uint8_t {
  bfloat16_parts,  // of float32: a value is the sum of two bfloat16 numbers
  tf32_parts,      // of float32: of two numbers of TF32, nearly as good as float32, at three quarters of the speed
  float16,
  bfloat16,
};
// Of a factor's elements in shared memory.
Dtype type_of(Arithmetic arithmetic);

struct Contraction {
  TermId root = -1;  // what becomes of the sum; -1: nothing
  TermId load = -1;  // the sum, in root
  NodeId sum = -1;
  Extents shape;                                // of the stage, axes joined
  Extents over;                                 // of the sum
  std::vector<std::int64_t> batch, rows, cols;  // axes of the stage, those of one element left out
  std::vector<std::int64_t> depth;              // axes of the sum
  Factor left, right;                           // left has the rows
  Arithmetic arithmetic = Arithmetic::bfloat16_parts;
};

// Sizes of a contraction, and the constants of its kernel that fit them.
struct ContractionSize {
  std::int64_t batch = 1, rows = 1, cols = 1, depth = 1;
};
struct ContractionTiles {
  int tile_m = 128, tile_n = 128, tile_k = 32;  // of the result, and how much of the sum at a time
  int warps_m = 2, warps_n = 4;                 // a block's warps, down and across its tile
  int stages = 4;                               // tiles on their way, and the one that is multiplied
  int group = 1;                                // rows of tiles that run together
  int splits = 1;                               // parts of the sum, each a block's

  int threads() const { return 32 * warps_m * warps_n; }
};
// False: too small for tiles.
bool pays(const ContractionSize& size);
// `gathered`: a factor is computed on its way into shared memory; `windowed`: it is an image that a window is moved
// over.
ContractionTiles tiles_for(const ContractionSize& size, Arithmetic arithmetic, bool gathered, bool windowed = false);

// The device functions that kernels of contractions call; what those of 16-bit types need besides, which comes before.
std::string contraction_functions(const std::set<Arithmetic>& used);
std::string half_products(const std::set<Arithmetic>& used);
// Text in which a 16-bit type is `CUDA_TYPE`, and `PTX_TYPE` in PTX.
std::string with_type(std::string_view text, Arithmetic arithmetic);
// Parts of contraction_functions(): what is the same for all 16-bit types, and what windows need.
std::string half_functions();
std::string window_functions(std::string_view kernels);

}  // namespace kw::program
