#pragma once
// Attention in a graph: softmax(query key^T * scale [+ mask]) value, however it was written. In the graph it is five
// nodes or more: two products, a maximum, a sum and what is between. Where nothing else reads those, the last product
// becomes one stage that computes all of them in one pass and keeps no scores in memory.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agents/program/contraction.h"
#include "agents/program/graph.h"

namespace kw::program {

// Elements are terms over the axes of `node`, then that of the keys, then that of what is summed in a score.
struct Attention {
  NodeId node = -1;  // the product with the values
  // What is kept of it: the node, or its one reader, which only puts it in another order; and where an element lies
  // there, over the axes of the node.
  NodeId stage = -1;
  std::vector<TermId> places;
  std::vector<std::int64_t> batch;  // axes of the node, without those of one element
  std::int64_t query_axis = -1, feature_axis = -1, key_axis = -1, depth_axis = -1;
  Extent queries, features, keys, depth;
  TermId query = -1, key = -1, value = -1;  // each a load
  // A score is `scale` times the product of query and key; or `score`, where `product` stands for that.
  TermId scale = -1, score = -1, product = -1;
  // A query sees the keys up to its own place + `shift`.
  bool causal = false;
  Extent shift;
  // A query that sees no key has zeros, and not NaN.
  bool zero_where_blind = false;

  Dtype type = Dtype::float16;   // of what it reads and gives
  std::vector<NodeId> left_out;  // its reductions that no kernel computes by themselves

  // The 16-bit type of tiles. Queries and keys are the sum of so many of its numbers: an exponential makes small errors
  // of scores large, so that neither those of float32 nor 16-bit ones that were computed are rounded to one.
  Dtype tile_type() const { return type == Dtype::float32 ? Dtype::bfloat16 : type; }
  int parts(const Graph& graph) const;
  int value_parts() const { return type == Dtype::float32 ? 2 : 1; }
  // What it reads, for who decides which nodes are computed.
  std::vector<TermId> roots(Graph& graph) const;
};

// By stage. `sizes`: all that the task declares, the first train size first.
std::map<NodeId, Attention> find_attentions(Graph& graph, const std::vector<Sizes>& sizes);

// What a kernel is for.
struct AttentionForm {
  int head = 64, head_v = 64;      // of keys and values at most: multiples of 16
  int parts = 1, value_parts = 1;  // numbers that are one
  bool computed = false;           // a score is more than a product and its scale
};

// Its constants.
struct AttentionTiles {
  int tile_q = 128, tile_k = 64;  // queries of a block, keys at a time
  int warps = 4;
  int stages = 2;    // tiles of keys and values on their way, and the one that is used
  bool kept = true;  // queries stay in registers

  int bytes(const AttentionForm& form) const;  // of shared memory
};
AttentionTiles attention_tiles(const AttentionForm& form);

// The device functions that kernels of attention call, but for half_products().
std::string attention_functions(const std::set<Arithmetic>& used);

}  // namespace kw::program
