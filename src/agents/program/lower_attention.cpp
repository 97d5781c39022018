// Attention as one call.

#include <fmt/format.h>

#include <limits>

#include "agents/program/lowering.h"

namespace kw::program {
namespace {

using Terms = std::vector<TermId>;

// PyTorch's own softmax of scores here: a row in which nothing is seen has zeros.
NodeId safe_softmax(Lowering& to, NodeId scores) {
  const int last = to.rank(scores) - 1;
  const NodeId top = to.reduce_axes(Combine::maximum, scores, {last}, true);
  const NodeId shifted = to.unary(ScalarOp::exp, to.binary(ScalarOp::subtract, scores, top));
  const NodeId total = to.reduce_axes(Combine::sum, shifted, {last}, true);
  if (to.failed()) return 0;
  return to.elements(std::vector<NodeId>{shifted, total, top}, [&](const Terms& t) {
    const Dtype type = to.graph.term(t[2]).dtype;
    const TermId lowest = to.number(-std::numeric_limits<double>::infinity(), type);
    return to.graph.select(to.graph.apply(ScalarOp::equal, t[2], lowest), to.number(0, type), to.divide(t[0], t[1]));
  });
}

Value lower_attention(Lowering& to, const Arguments& a) {
  const NodeId q = to.tensor(a["query"]);
  NodeId k = to.tensor(a["key"], "key"), v = to.tensor(a["value"], "value");
  if (a.has("dropout_p") && to.constant_real(a["dropout_p"], "dropout_p") != 0)
    to.fail("`scaled_dot_product_attention` with dropout, which draws random numbers");
  if (to.failed() || to.rank(q) < 2 || to.rank(k) < 2) {
    to.fail("`scaled_dot_product_attention` of less than two dimensions");
    return {};
  }
  if (to.flag(a["enable_gqa"], "enable_gqa")) {  // each head of keys and values serves several of queries
    if (to.rank(q) < 3 || to.rank(k) < 3) to.fail("`enable_gqa` without heads");
    if (to.failed()) return {};
    const auto heads = static_cast<std::size_t>(to.rank(q) - 3);
    for (NodeId* each : {&k, &v}) {
      Extents wide = to.shape(*each);
      const Extent times = quotient(to.shape(q)[heads], wide[heads]);
      wide[heads] = to.shape(q)[heads];
      const NodeId from = *each;
      *each = to.map(to.dtype(from), wide, [&](Axes at) {
        at[heads] = to.divide(at[heads], to.size(times));
        return to.graph.load(from, at);
      });
    }
  }
  const int rank = to.rank(k);
  const Dtype type = to.dtype(q);
  const Extent depth = to.shape(q).back();
  NodeId scores = to.product(q, to.transpose(k, rank - 2, rank - 1));
  if (to.failed()) return {};
  scores = to.elements(std::vector<NodeId>{scores}, [&](const Terms& t) {
    if (a.has("scale")) return to.multiply(t[0], to.number_term(a["scale"], type));
    return to.multiply(t[0], to.graph.apply(ScalarOp::reciprocal_root, to.number_term(Value::of_whole(depth), type)));
  });
  const TermId lowest = to.number(-std::numeric_limits<double>::infinity(), type);
  if (to.flag(a["is_causal"], "is_causal")) {
    const NodeId open = scores;
    scores = to.map(type, to.shape(open), [&](const Axes& at) {
      const TermId seen = to.graph.apply(ScalarOp::less_equal, at.back(), at[at.size() - 2]);
      return to.graph.select(seen, to.read(open, at), lowest);
    });
  }
  const NodeId mask = to.optional_tensor(a["attn_mask"]);
  if (to.failed()) return {};
  if (mask >= 0 && to.dtype(mask) == Dtype::boolean) {
    scores = to.elements(
        std::vector<NodeId>{scores, mask},
        [&](const Terms& t) { return to.graph.select(to.graph.cast(t[1], Dtype::boolean), t[0], lowest); }, type, type);
  } else if (mask >= 0) {
    scores = to.binary(ScalarOp::add, scores, mask);
  }
  if (to.failed()) return {};
  const NodeId weights = mask >= 0 ? safe_softmax(to, scores) : to.softmax(scores, to.rank(scores) - 1);
  return Value::of(to.product(weights, v));
}

}  // namespace

std::span<const Operation> attention_operations() {
  static const std::vector<Operation> table{
      {"scaled_dot_product_attention",
       "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False",
       lower_attention},
  };
  return table;
}

}  // namespace kw::program
