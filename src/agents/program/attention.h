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
  NodeId node = -1;                 // the product with the values
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

  Dtype type = Dtype::float16;
  // What it reads, for who decides which nodes are computed.
  std::vector<TermId> roots(Graph& graph) const;
};

// By node. `sizes`: all that the task declares, the first train size first.
std::map<NodeId, Attention> find_attentions(Graph& graph, const std::vector<Sizes>& sizes);

// Constants of a kernel.
struct AttentionTiles {
  int tile_q = 128, tile_k = 64;  // queries of a block, keys at a time
  int warps = 4;
  int stages = 2;    // tiles of keys and values on their way, and the one that is used
  bool kept = true;  // queries stay in registers

  // Of shared memory, for heads of these sizes.
  int bytes(int head, int head_v) const;
};
// `head`, `head_v`: of keys and values, multiples of 16.
AttentionTiles attention_tiles(int head, int head_v);

// The device functions that kernels of attention call, but for half_products().
std::string attention_functions(const std::set<Arithmetic>& used);

}  // namespace kw::program
