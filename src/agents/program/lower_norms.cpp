// Normalisations: each is a mean, a variance around it, and a map.

#include <fmt/format.h>

#include <algorithm>

#include "agents/program/lowering.h"

namespace kw::program {
namespace {

using Terms = std::vector<TermId>;

// (x - mean) / sqrt(variance + eps) over these axes, the mean of squares alone where `centred` is false.
NodeId normalised(Lowering& to, NodeId x, const std::vector<int>& axes, double eps, bool centred = true) {
  const NodeId off = centred ? to.binary(ScalarOp::subtract, x, to.mean_axes(x, axes, true)) : x;
  const NodeId spread = to.mean_axes(to.binary(ScalarOp::multiply, off, off), axes, true);
  return to.elements(std::vector<NodeId>{off, spread}, [&](const Terms& t) {
    return to.multiply(t[0], to.graph.apply(ScalarOp::reciprocal_root, to.plus(t[1], eps)));
  });
}

// weight and bias have the extents of these axes of the result.
NodeId affine(Lowering& to, NodeId x, const Value& weight, const Value& bias, const std::vector<int>& axes) {
  const auto wide = [&](const Value& value) {
    const NodeId given = to.tensor(value, "weight");
    if (to.failed()) return 0;
    Extents shape(static_cast<std::size_t>(to.rank(x)), Extent(1));
    for (const int each : axes) shape[static_cast<std::size_t>(each)] = to.shape(x)[static_cast<std::size_t>(each)];
    return to.reshape(given, shape);
  };
  if (!weight.is(Value::Kind::none) && !to.failed()) x = to.binary(ScalarOp::multiply, x, wide(weight));
  if (!bias.is(Value::Kind::none) && !to.failed()) x = to.binary(ScalarOp::add, x, wide(bias));
  return x;
}

std::vector<int> last_axes(Lowering& to, NodeId x, const Value& shape) {
  const auto count = static_cast<int>(to.wholes(shape, "normalized_shape").size());
  if (count > to.rank(x)) to.fail(fmt::format("`{}` over more dimensions than there are", to.operation));
  std::vector<int> axes;
  for (int i = std::max(0, to.rank(x) - count); i < to.rank(x); ++i) axes.push_back(i);
  return axes;
}

Value lower_layer_norm(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const std::vector<int> axes = last_axes(to, x, a["normalized_shape"]);
  const NodeId made = normalised(to, x, axes, to.constant_real(a["eps"], "eps"));
  return Value::of(to.failed() ? 0 : affine(to, made, a["weight"], a["bias"], axes));
}

Value lower_rms_norm(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const std::vector<int> axes = last_axes(to, x, a["normalized_shape"]);
  // PyTorch's default is the type's epsilon.
  const Dtype type = to.dtype(x);
  const double least = type == Dtype::float64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  const double eps = a.has("eps") ? to.constant_real(a["eps"], "eps") : least;
  const NodeId made = normalised(to, x, axes, eps, false);
  return Value::of(to.failed() ? 0 : affine(to, made, a["weight"], Value{}, axes));
}

std::vector<int> without_channels(Lowering& to, NodeId x, bool batch) {
  std::vector<int> axes;
  for (int i = 0; i < to.rank(x); ++i)
    if (i > 1 || (i == 0 && batch)) axes.push_back(i);
  return axes;
}

Value lower_batch_norm(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed() || to.rank(x) < 2) {
    to.fail("`batch_norm` of less than two dimensions");
    return {};
  }
  const double eps = to.constant_real(a["eps"], "eps");
  NodeId made = 0;
  if (to.flag(a["training"], "training")) {
    made = normalised(to, x, without_channels(to, x, true), eps);
  } else {
    Extents wide(static_cast<std::size_t>(to.rank(x)), Extent(1));
    wide[1] = to.shape(x)[1];
    const NodeId mean = to.tensor(a["running_mean"], "running_mean"),
                 spread = to.tensor(a["running_var"], "running_var");
    if (to.failed()) return {};
    made = to.elements(std::vector<NodeId>{x, to.reshape(mean, wide), to.reshape(spread, wide)}, [&](const Terms& t) {
      return to.multiply(to.subtract(t[0], t[1]), to.graph.apply(ScalarOp::reciprocal_root, to.plus(t[2], eps)));
    });
  }
  return Value::of(to.failed() ? 0 : affine(to, made, a["weight"], a["bias"], {1}));
}

Value lower_instance_norm(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed() || to.rank(x) < 3) {
    to.fail("`instance_norm` of less than three dimensions");
    return {};
  }
  if (!to.flag(a["use_input_stats"], "use_input_stats")) to.fail("`instance_norm` with given statistics");
  const NodeId made = normalised(to, x, without_channels(to, x, false), to.constant_real(a["eps"], "eps"));
  return Value::of(to.failed() ? 0 : affine(to, made, a["weight"], a["bias"], {1}));
}

Value lower_group_norm(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  const Extent groups = to.whole(a["num_groups"], "num_groups");
  if (to.failed() || to.rank(x) < 2) {
    to.fail("`group_norm` of less than two dimensions");
    return {};
  }
  Extents split = to.shape(x);
  const Extent each = quotient(split[1], groups);
  split[1] = each;
  split.insert(split.begin() + 1, groups);
  const NodeId apart = to.reshape(x, split);
  std::vector<int> axes;
  for (int i = 2; i < static_cast<int>(split.size()); ++i) axes.push_back(i);
  const NodeId made = to.reshape(normalised(to, apart, axes, to.constant_real(a["eps"], "eps")), to.shape(x));
  return Value::of(to.failed() ? 0 : affine(to, made, a["weight"], a["bias"], {1}));
}

// x / (k + alpha / size * sum of squares of `size` channels around) ** beta
Value lower_local_response(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  const std::int64_t size = to.constant_whole(a["size"], "size");
  const double alpha = to.constant_real(a["alpha"], "alpha"), beta = to.constant_real(a["beta"], "beta");
  const double k = to.constant_real(a["k"], "k");
  if (to.failed() || to.rank(x) < 2 || size < 1) return {};
  const Extent channels = to.shape(x)[1];
  const NodeId squares =
      to.reduce(Combine::sum, to.dtype(x), to.shape(x), {Extent(size)}, [&](Axes at, const Axes& in) {
        at[1] = to.add(to.plus(at[1], -static_cast<double>(size / 2)), in[0]);
        const TermId value = to.graph.load(x, at, to.within(at[1], channels));
        return to.multiply(value, value);
      });
  return Value::of(to.elements(std::vector<NodeId>{x, squares}, [&](const Terms& t) {
    const TermId base = to.plus(to.times(t[1], alpha / static_cast<double>(size)), k);
    return to.divide(t[0], to.graph.apply(ScalarOp::power, base, to.number(beta, to.graph.term(base).dtype)));
  }));
}

}  // namespace

std::span<const Operation> norm_operations() {
  static const std::vector<Operation> table{
      {"layer_norm", "input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True", lower_layer_norm},
      {"rms_norm", "input, normalized_shape, weight=None, eps=None", lower_rms_norm},
      {"group_norm", "input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True", lower_group_norm},
      {"batch_norm", "input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5",
       lower_batch_norm},
      {"torch.batch_norm",
       "input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True", lower_batch_norm},
      {"instance_norm",
       "input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, "
       "eps=1e-5",
       lower_instance_norm},
      {"torch.instance_norm",
       "input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=True",
       lower_instance_norm},
      {"local_response_norm", "input, size, alpha=1e-4, beta=0.75, k=1.0", lower_local_response},
  };
  return table;
}

}  // namespace kw::program
