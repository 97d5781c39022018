// Operations whose indices are data: gather, embedding, one-hot, scatter.

#include <fmt/format.h>

#include "agents/program/lowering.h"

namespace kw::program {
namespace {

TermId as_index(Lowering& to, TermId value) { return to.graph.cast(value, Dtype::int32); }

Value lower_gather(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), places = to.tensor(a["index"], "index");
  if (to.failed()) return {};
  const auto axis = static_cast<std::size_t>(to.axis(a["dim"], to.rank(x)));
  if (to.failed() || to.rank(x) != to.rank(places) || to.rank(x) == 0) {
    to.fail(fmt::format("`{}` with an index of another rank", to.operation));
    return {};
  }
  return Value::of(to.map(to.dtype(x), to.shape(places), [&](Axes at) {
    at[axis] = as_index(to, to.graph.load(places, at));
    return to.graph.load(x, at);
  }));
}

Value lower_index_select(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), places = to.tensor(a["index"], "index");
  if (to.failed() || to.rank(x) == 0 || to.rank(places) > 1) {
    to.fail("`index_select` with an index of more than one dimension");
    return {};
  }
  const auto axis = static_cast<std::size_t>(to.axis(a["dim"], to.rank(x)));
  Extents made = to.shape(x);
  made[axis] = to.rank(places) == 0 ? Extent(1) : to.shape(places)[0];
  return Value::of(to.map(to.dtype(x), made, [&](Axes at) {
    at[axis] = as_index(to, to.read(places, {at[axis]}));
    return to.graph.load(x, at);
  }));
}

Value lower_embedding(Lowering& to, const Arguments& a) {
  const NodeId places = to.tensor(a["input"]), table = to.tensor(a["weight"], "weight");
  if (to.failed() || to.rank(table) != 2) {
    to.fail("`embedding` whose table has other than two dimensions");
    return {};
  }
  Extents made = to.shape(places);
  made.push_back(to.shape(table)[1]);
  return Value::of(to.map(to.dtype(table), made, [&](const Axes& at) {
    const Axes place(at.begin(), at.end() - 1);
    return to.graph.load(table, {as_index(to, to.read(places, place)), at.back()});
  }));
}

// Bags of equal length: indices [bags, length].
Value lower_embedding_bag(Lowering& to, const Arguments& a) {
  const NodeId places = to.tensor(a["input"]), table = to.tensor(a["weight"], "weight");
  const std::string mode = to.text(a["mode"], "mode");
  if (to.failed() || to.rank(table) != 2 || to.rank(places) != 2 || a.has("offsets")) {
    to.fail("`embedding_bag` with `offsets`");
    return {};
  }
  const NodeId weights = to.optional_tensor(a["per_sample_weights"]);
  const Extents made{to.shape(places)[0], to.shape(table)[1]};
  const Extent length = to.shape(places)[1];
  const Combine combine = mode == "max" ? Combine::maximum : Combine::sum;
  const NodeId bag = to.reduce(combine, to.dtype(table), made, {length}, [&](const Axes& at, const Axes& in) {
    const Axes place{at[0], in[0]};
    const TermId row = to.graph.load(table, {as_index(to, to.read(places, place)), at[1]});
    return weights < 0 ? row : to.multiply(row, to.graph.cast(to.read(weights, place), to.dtype(table)));
  });
  if (mode != "mean") return Value::of(bag);
  return Value::of(to.elements(std::vector<NodeId>{bag}, [&](const std::vector<TermId>& t) {
    return to.divide(t[0], to.number_term(Value::of_whole(length), to.graph.term(t[0]).dtype));
  }));
}

Value lower_one_hot(Lowering& to, const Arguments& a) {
  const NodeId labels = to.tensor(a["input"]);
  const Extent classes = to.whole(a["num_classes"], "num_classes");
  if (to.failed() || classes.constant().value_or(1) < 1) {
    to.fail("`one_hot` without the number of classes");
    return {};
  }
  Extents made = to.shape(labels);
  made.push_back(classes);
  return Value::of(to.map(Dtype::int64, made, [&](const Axes& at) {
    const TermId label = to.read(labels, Axes(at.begin(), at.end() - 1));
    return to.graph.apply(ScalarOp::equal, as_index(to, label), at.back());
  }));
}

// out = x, then combine `value(k)` into out[target(k)] for all k of `over`.
NodeId scatter(Lowering& to, NodeId x, Combine combine, const Extents& over,
               const std::function<Axes(const Axes&)>& target, const std::function<TermId(const Axes&)>& value) {
  if (to.failed()) return 0;
  Node node;
  node.kind = NodeKind::scatter;
  node.combine = combine;
  node.dtype = to.dtype(x);
  node.shape = to.shape(x);
  node.over = over;
  node.operation = to.operation;
  node.line = to.line;
  Axes at, own;
  for (std::size_t i = 0; i < over.size(); ++i)
    at.push_back(to.is_one(over[i]) ? to.index(0) : to.graph.axis(static_cast<int>(i)));
  for (int i = 0; i < to.rank(x); ++i) own.push_back(to.graph.axis(i));
  node.target = target(at);
  node.body = to.graph.cast(value(at), node.dtype);
  node.initial = to.graph.cast(to.read(x, own), node.dtype);
  return to.graph.add(std::move(node));
}

std::optional<Combine> combine_of(Lowering& to, const std::string& name) {
  if (name == "sum" || name == "add") return Combine::sum;
  if (name == "prod" || name == "multiply") return Combine::product;
  if (name == "amax") return Combine::maximum;
  if (name == "amin") return Combine::minimum;
  to.fail(fmt::format("`{}` with the reduction {}", to.operation, name));
  return std::nullopt;
}

Value lower_scatter(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), places = to.tensor(a["index"], "index");
  const Value& source = a["src"].is(Value::Kind::none) ? a["value"] : a["src"];
  if (to.failed()) return {};
  const auto axis = static_cast<std::size_t>(to.axis(a["dim"], to.rank(x)));
  Combine combine = a.function == "scatter_add" ? Combine::sum : Combine::replace;
  if (a.has("reduce")) combine = combine_of(to, to.text(a["reduce"], "reduce")).value_or(combine);
  if (a.function == "scatter_reduce" && !to.flag(a["include_self"], "include_self"))
    to.fail("`scatter_reduce` without `include_self`");
  if (to.failed() || to.rank(x) != to.rank(places) || to.rank(x) == 0) {
    to.fail(fmt::format("`{}` with an index of another rank", to.operation));
    return {};
  }
  return Value::of(scatter(
      to, x, combine, to.shape(places),
      [&](Axes at) {
        at[axis] = as_index(to, to.graph.load(places, at));
        return at;
      },
      [&](const Axes& at) {
        return source.is(Value::Kind::tensor) && to.rank(source.node) > 0 ? to.graph.load(source.node, at)
               : source.is(Value::Kind::tensor)                           ? to.read(source.node, at)
                                                                          : to.number_term(source, to.dtype(x));
      }));
}

// index_add, index_copy, index_fill: rows along one axis.
Value lower_index_rows(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), places = to.tensor(a["index"], "index");
  const Value& source = a["source"];
  if (to.failed() || to.rank(x) == 0 || to.rank(places) != 1) {
    to.fail(fmt::format("`{}` with an index of other than one dimension", to.operation));
    return {};
  }
  const auto axis = static_cast<std::size_t>(to.axis(a["dim"], to.rank(x)));
  Extents over = to.shape(x);
  over[axis] = to.shape(places)[0];
  const bool adds = a.function == "index_add";
  const Dtype type = to.dtype(x);
  return Value::of(scatter(
      to, x, adds ? Combine::sum : Combine::replace, over,
      [&](Axes at) {
        at[axis] = as_index(to, to.graph.load(places, {at[axis]}));
        return at;
      },
      [&](const Axes& at) {
        const TermId value = source.is(Value::Kind::tensor) ? to.graph.cast(to.read(source.node, at), type)
                                                            : to.number_term(source, type);
        return adds && a.has("alpha") ? to.multiply(value, to.number_term(a["alpha"], type)) : value;
      }));
}

Value lower_bincount(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  const Extent bins = to.whole(a["minlength"], "minlength");
  if (to.failed() || bins.is(0)) {
    to.fail("`bincount` without the number of bins");
    return {};
  }
  const NodeId weights = to.optional_tensor(a["weights"]);
  const NodeId empty = to.constant(weights < 0 ? Dtype::int64 : to.dtype(weights), {bins}, 0);
  return Value::of(scatter(
      to, empty, Combine::sum, to.shape(x), [&](const Axes& at) { return Axes{as_index(to, to.read(x, at))}; },
      [&](const Axes& at) { return weights < 0 ? to.graph.whole(1, Dtype::int64) : to.read(weights, at); }));
}

Value lower_take(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), places = to.tensor(a["index"], "index");
  if (to.failed()) return {};
  const NodeId flat = to.reshape(x, {elements_of(to.shape(x))});
  return Value::of(to.map(to.dtype(x), to.shape(places),
                          [&](const Axes& at) { return to.graph.load(flat, {as_index(to, to.read(places, at))}); }));
}

}  // namespace

std::span<const Operation> index_operations() {
  static const std::vector<Operation> table{
      {"gather", "input, dim, index, sparse_grad=False", lower_gather},
      {"take_along_dim", "input, index, dim", lower_gather},
      {"index_select", "input, dim, index", lower_index_select},
      {"embedding",
       "input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False",
       lower_embedding},
      {"torch.embedding", "weight, input, padding_idx=-1, scale_grad_by_freq=False, sparse=False", lower_embedding},
      {"embedding_bag",
       "input, weight, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode='mean', "
       "sparse=False, "
       "per_sample_weights=None, include_last_offset=False, padding_idx=None",
       lower_embedding_bag},
      {"one_hot", "input, num_classes=-1", lower_one_hot},
      {"scatter", "input, dim, index, src=None, value=None, reduce=None", lower_scatter},
      {"scatter_add", "input, dim, index, src, value=None, reduce=None", lower_scatter},
      {"scatter_reduce", "input, dim, index, src, reduce, include_self=True, value=None", lower_scatter},
      {"index_add", "input, dim, index, source, alpha=None", lower_index_rows},
      {"index_copy index_fill", "input, dim, index, source", lower_index_rows},
      {"bincount", "input, weights=None, minlength=0", lower_bincount},
      {"take", "input, index", lower_take},
  };
  return table;
}

}  // namespace kw::program
