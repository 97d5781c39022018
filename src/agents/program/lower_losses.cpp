// Losses: an expression of each element, then a mean or a sum.

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "agents/program/lowering.h"

namespace kw::program {
namespace {

using Terms = std::vector<TermId>;

Value reduced(Lowering& to, NodeId loss, const Arguments& a) {
  std::string how = to.text(a["reduction"], "reduction");
  if (to.failed() || how == "none") return Value::of(loss);
  const std::vector<int> all = to.axes(Value{}, to.rank(loss));
  if (how == "sum") return Value::of(to.reduce_axes(Combine::sum, loss, all, false));
  if (how == "batchmean") {
    if (to.rank(loss) == 0) return Value::of(loss);
    const NodeId sum = to.reduce_axes(Combine::sum, loss, all, false);
    const Extent batch = to.shape(loss)[0];
    return Value::of(to.elements(std::vector<NodeId>{sum}, [&](const Terms& t) {
      return to.divide(t[0], to.number_term(Value::of_whole(batch), to.graph.term(t[0]).dtype));
    }));
  }
  if (how != "mean") to.fail(fmt::format("`{}` with the reduction {}", to.operation, how));
  return Value::of(to.mean_axes(loss, all, false));
}

// Losses of two tensors, element by element, and at most one constant.
Value lower_pair(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), target = to.tensor(a["target"], "target");
  const double by = a.values.size() > 3 && a.values[3].is_number() ? to.constant_real(a.values[3], a.names[3]) : 1;
  Graph& g = to.graph;
  const std::string& name = a.function;
  const NodeId loss = to.elements(std::vector<NodeId>{x, target}, [&](const Terms& t) {
    const TermId off = to.subtract(t[0], t[1]), size = g.apply(ScalarOp::absolute, off);
    const Dtype type = g.term(off).dtype;
    if (name == "mse_loss") return to.multiply(off, off);
    if (name == "l1_loss") return size;
    const TermId square = to.times(to.multiply(off, off), 0.5), edge = to.number(by, type);
    if (name == "huber_loss")
      return g.select(g.apply(ScalarOp::less_equal, size, edge), square, to.multiply(edge, to.plus(size, -0.5 * by)));
    if (name == "smooth_l1_loss") {
      if (by == 0) return size;
      return g.select(to.less(size, edge), to.divide(square, edge), to.plus(size, -0.5 * by));
    }
    if (name == "soft_margin_loss") {  // log(1 + exp(z)) as max(z, 0) + log1p(exp(-|z|)), which does not overflow
      const TermId z = g.apply(ScalarOp::negate, to.multiply(t[0], t[1]));
      const TermId small = g.apply(ScalarOp::exp, g.apply(ScalarOp::negate, g.apply(ScalarOp::absolute, z)));
      return to.add(g.apply(ScalarOp::maximum, z, to.number(0, type)), g.apply(ScalarOp::log1p, small));
    }
    // hinge_embedding_loss: x where the target is 1, max(0, margin - x) where it is -1.
    const TermId zero = to.number(0, type);
    const TermId hinge = g.apply(ScalarOp::maximum, to.subtract(edge, t[0]), zero);
    const TermId near = g.select(g.apply(ScalarOp::not_equal, t[1], to.number(1, type)), hinge, zero);
    return to.add(near, g.select(g.apply(ScalarOp::not_equal, t[1], to.number(-1, type)), t[0], zero));
  });
  return reduced(to, loss, a);
}

Value lower_divergence(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), target = to.tensor(a["target"], "target");
  const bool logarithm = to.flag(a["log_target"], "log_target");
  Graph& g = to.graph;
  const NodeId loss = to.elements(std::vector<NodeId>{x, target}, [&](const Terms& t) {
    const TermId zero = to.number(0, g.term(t[1]).dtype);
    if (logarithm) return to.multiply(g.apply(ScalarOp::exp, t[1]), to.subtract(t[1], t[0]));
    const TermId own = to.multiply(t[1], g.apply(ScalarOp::log, t[1]));
    return to.subtract(g.select(g.apply(ScalarOp::equal, t[1], zero), zero, own), to.multiply(t[1], t[0]));
  });
  return reduced(to, loss, a);
}

Value lower_binary_entropy(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), target = to.tensor(a["target"], "target");
  if (to.failed()) return {};
  Graph& g = to.graph;
  const bool logits = a.function.ends_with("logits");
  const bool weighted = logits && a.has("pos_weight");
  std::vector<NodeId> operands{x, target};
  if (weighted) operands.push_back(to.tensor(a["pos_weight"], "pos_weight"));
  NodeId loss = to.elements(operands, [&](const Terms& t) {
    const TermId rest = to.subtract(to.number(1, g.term(t[1]).dtype), t[1]);
    if (logits) {
      // (1 - t) x + (1 + (w - 1) t) (log(1 + exp(-|x|)) + max(-x, 0))
      const TermId minus = g.apply(ScalarOp::negate, t[0]);
      const TermId small = g.apply(ScalarOp::exp, g.apply(ScalarOp::negate, g.apply(ScalarOp::absolute, t[0])));
      const TermId log =
          to.add(g.apply(ScalarOp::log1p, small), g.apply(ScalarOp::maximum, minus, to.number(0, g.term(minus).dtype)));
      const TermId scaled = weighted ? to.multiply(to.plus(to.multiply(to.plus(t[2], -1), t[1]), 1), log) : log;
      return to.add(to.multiply(rest, t[0]), scaled);
    }
    const auto logarithm = [&](TermId value) {
      return g.apply(ScalarOp::maximum, g.apply(ScalarOp::log, value), to.number(-100, g.term(value).dtype));
    };
    const TermId other = to.subtract(to.number(1, g.term(t[0]).dtype), t[0]);
    return g.apply(ScalarOp::negate, to.add(to.multiply(t[1], logarithm(t[0])), to.multiply(rest, logarithm(other))));
  });
  if (a.has("weight")) loss = to.binary(ScalarOp::multiply, loss, to.tensor(a["weight"], "weight"));
  return reduced(to, loss, a);
}

// The value of class `target[...]` at axis 1 (or 0 without a batch) of `scores`, or 0 where the target is to be
// ignored.
struct Chosen {
  NodeId value = 0;   // -weight * score
  NodeId weight = 0;  // 1, or the class's; 0 where ignored
};

Chosen choose(Lowering& to, NodeId scores, NodeId target, const Value& weight, std::int64_t ignored) {
  Chosen made;
  if (to.failed()) return made;
  Graph& g = to.graph;
  const int axis = to.rank(scores) == 1 ? 0 : 1;
  const Dtype type = to.dtype(scores);
  const NodeId weights = weight.is(Value::Kind::none) ? -1 : to.tensor(weight, "weight");
  const auto class_of = [&](const Axes& at) { return g.cast(to.read(target, at), Dtype::int32); };
  const auto counts = [&](const Axes& at) { return g.apply(ScalarOp::not_equal, class_of(at), to.index(ignored)); };
  made.weight = to.map(type, to.shape(target), [&](const Axes& at) {
    if (weights >= 0) return g.load(weights, {class_of(at)}, counts(at));
    return g.cast(counts(at), type);
  });
  made.value = to.map(type, to.shape(target), [&](const Axes& at) {
    Axes place = at;
    place.insert(place.begin() + axis, class_of(at));
    const TermId score = g.load(scores, place, counts(at));
    return to.multiply(g.apply(ScalarOp::negate, score), to.read(made.weight, at));
  });
  return made;
}

Value reduced_chosen(Lowering& to, const Chosen& chosen, const Arguments& a) {
  const std::string how = to.text(a["reduction"], "reduction");
  if (to.failed() || how != "mean") return reduced(to, chosen.value, a);
  const std::vector<int> all = to.axes(Value{}, to.rank(chosen.value));
  const NodeId sum = to.reduce_axes(Combine::sum, chosen.value, all, false);
  return Value::of(to.binary(ScalarOp::divide, sum, to.reduce_axes(Combine::sum, chosen.weight, all, false)));
}

Value lower_nll(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), target = to.tensor(a["target"], "target");
  const std::int64_t ignored = to.constant_whole(a["ignore_index"], "ignore_index");
  if (to.failed()) return {};
  return reduced_chosen(to, choose(to, x, target, a["weight"], ignored), a);
}

Value lower_cross_entropy(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), target = to.tensor(a["target"], "target");
  const std::int64_t ignored = to.constant_whole(a["ignore_index"], "ignore_index");
  const double smoothing = to.constant_real(a["label_smoothing"], "label_smoothing");
  if (to.failed() || to.rank(x) == 0) return {};
  const int axis = to.rank(x) == 1 ? 0 : 1;
  const NodeId scores = to.log_softmax(x, axis);
  const Extent classes = to.failed() ? Extent(1) : to.shape(x)[static_cast<std::size_t>(axis)];
  const auto blended = [&](NodeId main, NodeId even, double share) {  // (1 - s) main + s / classes even
    return to.elements(std::vector<NodeId>{main, even}, [&](const Terms& t) {
      const Dtype type = to.graph.term(t[0]).dtype;
      const TermId part = to.divide(to.number(share, type), to.number_term(Value::of_whole(classes), type));
      return to.add(to.times(t[0], 1 - share), to.multiply(part, t[1]));
    });
  };
  if (to.failed()) return {};
  if (is_floating_point(to.dtype(target))) {  // probabilities of the classes
    if (a.has("weight")) to.fail("`cross_entropy` with probabilities and weights");
    NodeId wanted = target;
    if (smoothing > 0) wanted = blended(target, to.constant(to.dtype(target), to.shape(target), 1), smoothing);
    const NodeId loss = to.unary(
        ScalarOp::negate, to.reduce_axes(Combine::sum, to.binary(ScalarOp::multiply, scores, wanted), {axis}, false));
    return reduced(to, loss, a);
  }
  Chosen chosen = choose(to, scores, target, a["weight"], ignored);
  if (smoothing > 0) {
    if (a.has("weight")) to.fail("`cross_entropy` with smoothing and weights");
    const NodeId even = to.unary(ScalarOp::negate, to.reduce_axes(Combine::sum, scores, {axis}, false));
    chosen.value = blended(chosen.value, to.binary(ScalarOp::multiply, even, chosen.weight), smoothing);
  }
  return reduced_chosen(to, chosen, a);
}

// sum(a * b) / max(|a| * |b|, eps) over an axis
NodeId cosine(Lowering& to, NodeId x, NodeId y, int axis, double eps, bool separate) {
  const auto sum = [&](NodeId left, NodeId right) {
    const NodeId both = to.binary(ScalarOp::multiply, left, right);
    return to.failed() ? 0 : to.reduce_axes(Combine::sum, both, {axis}, false);
  };
  const NodeId together = sum(x, y), left = sum(x, x), right = sum(y, y);
  return to.elements(std::vector<NodeId>{together, left, right}, [&](const Terms& t) {
    const Dtype type = to.graph.term(t[0]).dtype;
    const auto root = [&](TermId value) { return to.graph.apply(ScalarOp::square_root, value); };
    if (!separate) {  // cosine_embedding_loss: sqrt((a.a + eps) (b.b + eps))
      return to.divide(t[0], root(to.multiply(to.plus(t[1], eps), to.plus(t[2], eps))));
    }
    const auto norm = [&](TermId value) {
      return to.graph.apply(ScalarOp::maximum, root(value), to.number(eps, type));
    };
    return to.divide(t[0], to.multiply(norm(t[1]), norm(t[2])));
  });
}

Value lower_cosine(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["x1"]), y = to.tensor(a["x2"]);
  if (to.failed()) return {};
  const int rank = std::max(to.rank(x), to.rank(y));
  const NodeId wide_x = to.expand(x, to.broadcast(to.shape(x), to.shape(y)));
  return Value::of(cosine(to, wide_x, y, to.axis(a["dim"], rank), to.constant_real(a["eps"], "eps"), true));
}

Value lower_cosine_loss(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input1"]), y = to.tensor(a["input2"]), target = to.tensor(a["target"]);
  const double margin = to.constant_real(a["margin"], "margin");
  if (to.failed() || to.rank(x) < 1) return {};
  const NodeId near = cosine(to, x, y, to.rank(x) - 1, 1e-12, false);
  const Dtype type = to.dtype(near);
  const NodeId loss = to.elements(
      std::vector<NodeId>{near, target},
      [&](const Terms& t) {
        Graph& g = to.graph;
        const TermId zero = to.number(0, type);
        const TermId apart = g.apply(ScalarOp::maximum, to.plus(t[0], -margin), zero);
        const TermId other = g.select(g.apply(ScalarOp::equal, t[1], to.number(-1, type)), apart, zero);
        return g.select(g.apply(ScalarOp::equal, t[1], to.number(1, type)), to.subtract(to.number(1, type), t[0]),
                        other);
      },
      type, type);
  return reduced(to, loss, a);
}

// (sum |x - y + eps| ** p) ** (1 / p) over the last axis
NodeId distance(Lowering& to, NodeId x, NodeId y, double p, double eps, bool keep) {
  const NodeId off = to.with(ScalarOp::add, to.binary(ScalarOp::subtract, x, y), eps);
  if (to.failed() || to.rank(off) == 0) return 0;
  const NodeId size = to.unary(ScalarOp::absolute, off);
  const NodeId powers = p == 2   ? to.binary(ScalarOp::multiply, size, size)
                        : p == 1 ? size
                                 : to.with(ScalarOp::power, size, p);
  const NodeId sum = to.reduce_axes(Combine::sum, powers, {to.rank(off) - 1}, keep);
  return p == 2 ? to.unary(ScalarOp::square_root, sum) : p == 1 ? sum : to.with(ScalarOp::power, sum, 1 / p);
}

Value lower_distance(Lowering& to, const Arguments& a) {
  const double p = to.constant_real(a["p"], "p"), eps = to.constant_real(a["eps"], "eps");
  return Value::of(distance(to, to.tensor(a["x1"]), to.tensor(a["x2"]), p, eps, to.flag(a["keepdim"], "keepdim")));
}

Value lower_triplet(Lowering& to, const Arguments& a) {
  const NodeId anchor = to.tensor(a["anchor"]), positive = to.tensor(a["positive"]),
               negative = to.tensor(a["negative"]);
  const double margin = to.constant_real(a["margin"], "margin"), p = to.constant_real(a["p"], "p");
  const double eps = to.constant_real(a["eps"], "eps");
  if (to.failed()) return {};
  const NodeId near = distance(to, anchor, positive, p, eps, false);
  NodeId far = distance(to, anchor, negative, p, eps, false);
  if (to.flag(a["swap"], "swap"))
    far = to.binary(ScalarOp::minimum, far, distance(to, positive, negative, p, eps, false));
  const NodeId loss = to.elements(std::vector<NodeId>{near, far}, [&](const Terms& t) {
    const TermId apart = to.plus(to.subtract(t[0], t[1]), margin);
    return to.graph.apply(ScalarOp::maximum, apart, to.number(0, to.graph.term(apart).dtype));
  });
  return reduced(to, loss, a);
}

Value lower_margin_ranking(Lowering& to, const Arguments& a) {
  const double margin = to.constant_real(a["margin"], "margin");
  const NodeId loss = to.elements({a["input1"], a["input2"], a["target"]}, [&](const Terms& t) {
    const TermId apart = to.plus(to.multiply(to.graph.apply(ScalarOp::negate, t[2]), to.subtract(t[0], t[1])), margin);
    return to.graph.apply(ScalarOp::maximum, apart, to.number(0, to.graph.term(apart).dtype));
  });
  return reduced(to, loss, a);
}

Value lower_gaussian(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), target = to.tensor(a["target"]), spread = to.tensor(a["var"], "var");
  const double eps = to.constant_real(a["eps"], "eps");
  const bool full = to.flag(a["full"], "full");
  const NodeId loss = to.elements(std::vector<NodeId>{x, target, spread}, [&](const Terms& t) {
    const TermId off = to.subtract(t[0], t[1]);
    const TermId var = to.graph.apply(ScalarOp::maximum, t[2], to.number(eps, to.graph.term(t[2]).dtype));
    const TermId both = to.add(to.graph.apply(ScalarOp::log, var), to.divide(to.multiply(off, off), var));
    return to.plus(to.times(both, 0.5), full ? 0.5 * std::log(2 * std::numbers::pi) : 0);
  });
  return reduced(to, loss, a);
}

Value lower_poisson(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), target = to.tensor(a["target"]);
  const bool logarithm = to.flag(a["log_input"], "log_input");
  const double eps = to.constant_real(a["eps"], "eps");
  if (to.flag(a["full"], "full")) to.fail("`poisson_nll_loss` with `full`");
  const NodeId loss = to.elements(std::vector<NodeId>{x, target}, [&](const Terms& t) {
    if (logarithm) return to.subtract(to.graph.apply(ScalarOp::exp, t[0]), to.multiply(t[1], t[0]));
    return to.subtract(t[0], to.multiply(t[1], to.graph.apply(ScalarOp::log, to.plus(t[0], eps))));
  });
  return reduced(to, loss, a);
}

}  // namespace

std::span<const Operation> loss_operations() {
  static const std::vector<Operation> table{
      {"mse_loss l1_loss soft_margin_loss",
       "input, target, reduction='mean', unused=None, size_average=None, reduce=None", lower_pair},
      {"huber_loss", "input, target, reduction='mean', delta=1.0", lower_pair},
      {"smooth_l1_loss", "input, target, reduction='mean', beta=1.0, size_average=None, reduce=None", lower_pair},
      {"hinge_embedding_loss", "input, target, reduction='mean', margin=1.0, size_average=None, reduce=None",
       lower_pair},
      {"kl_div", "input, target, size_average=None, reduce=None, reduction='mean', log_target=False", lower_divergence},
      {"binary_cross_entropy", "input, target, weight=None, size_average=None, reduce=None, reduction='mean'",
       lower_binary_entropy},
      {"binary_cross_entropy_with_logits",
       "input, target, weight=None, size_average=None, reduce=None, reduction='mean', pos_weight=None",
       lower_binary_entropy},
      {"nll_loss", "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'",
       lower_nll},
      {"cross_entropy",
       "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', "
       "label_smoothing=0.0",
       lower_cross_entropy},
      {"cosine_similarity", "x1, x2, dim=1, eps=1e-8", lower_cosine},
      {"cosine_embedding_loss", "input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction='mean'",
       lower_cosine_loss},
      {"pairwise_distance", "x1, x2, p=2.0, eps=1e-6, keepdim=False", lower_distance},
      {"triplet_margin_loss",
       "anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None, "
       "reduction='mean'",
       lower_triplet},
      {"margin_ranking_loss", "input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction='mean'",
       lower_margin_ranking},
      {"gaussian_nll_loss", "input, target, var, full=False, eps=1e-6, reduction='mean'", lower_gaussian},
      {"poisson_nll_loss",
       "input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction='mean'",
       lower_poisson},
  };
  return table;
}

}  // namespace kw::program
