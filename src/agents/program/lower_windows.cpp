// Convolution, transposed convolution and pooling in one to three dimensions; windows of other kinds.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "agents/program/lowering.h"

namespace kw::program {
namespace {

using Terms = std::vector<TermId>;
using Numbers = std::vector<std::int64_t>;

// "conv2d" has 2, "max_pool3d_with_indices" 3.
std::size_t dimensions_of(std::string_view name) {
  for (const char c : name)
    if (c >= '1' && c <= '3') return static_cast<std::size_t>(c - '0');
  return 2;
}

// The input as [batch, channels, ...]; whether it had no batch.
bool with_batch(Lowering& to, NodeId& x, std::size_t dimensions) {
  const bool single = !to.failed() && static_cast<std::size_t>(to.rank(x)) == dimensions + 1;
  if (single) x = to.unsqueeze(x, 0);
  if (!to.failed() && static_cast<std::size_t>(to.rank(x)) != dimensions + 2)
    to.fail(fmt::format("`{}` of {} dimensions", to.operation, to.rank(x)));
  return single;
}

Value without_batch(Lowering& to, NodeId made, bool single) { return Value::of(single ? to.squeeze(made, 0) : made); }

NodeId with_bias(Lowering& to, NodeId made, const Value& bias, std::size_t dimensions) {
  if (bias.is(Value::Kind::none)) return made;
  const NodeId given = to.tensor(bias, "bias");
  if (to.failed()) return 0;
  Extents wide(dimensions + 1, Extent(1));
  wide[0] = to.shape(given).empty() ? Extent(1) : to.shape(given)[0];
  return to.binary(ScalarOp::add, made, to.reshape(given, wide));
}

bool positive(Lowering& to, const Numbers& numbers) {
  const bool good = std::all_of(numbers.begin(), numbers.end(), [](std::int64_t n) { return n >= 1 && n < 1'000'000; });
  if (!good) to.fail(fmt::format("`{}` with such a stride or dilation", to.operation));
  return good;
}

// What a convolution and a transposed one are both told.
struct Taps {
  NodeId x = 0, weight = 0;
  bool single = false;  // there was no batch
  Numbers stride, dilation;
  Extent groups;
  Extents from, kernel;
};

std::optional<Taps> read_taps(Lowering& to, const Arguments& a, std::size_t d) {
  Taps taps;
  taps.x = to.tensor(a["input"]);
  taps.weight = to.tensor(a["weight"], "weight");
  if (to.failed()) return std::nullopt;
  taps.single = with_batch(to, taps.x, d);
  taps.stride = to.constants(a["stride"], d, "stride");
  taps.dilation = to.constants(a["dilation"], d, "dilation");
  taps.groups = to.whole(a["groups"], "groups");
  if (to.failed() || !positive(to, taps.stride) || !positive(to, taps.dilation)) return std::nullopt;
  taps.from = to.shape(taps.x);
  taps.kernel = to.shape(taps.weight);
  if (taps.kernel.size() == d + 2) return taps;
  to.fail(fmt::format("`{}` with a weight of {} dimensions", to.operation, taps.kernel.size()));
  return std::nullopt;
}

Value lower_convolution(Lowering& to, const Arguments& a) {
  const std::size_t d = dimensions_of(a.function);
  const auto taps = read_taps(to, a, d);
  if (!taps) return {};
  const NodeId x = taps->x, weight = taps->weight;
  const Numbers &stride = taps->stride, &dilation = taps->dilation;
  const Extent& groups = taps->groups;
  const Extents &from = taps->from, &kernel = taps->kernel;
  std::vector<Extent> padding(d, Extent(0)), behind(d, Extent(0));  // at the end of each axis
  if (a["padding"].is(Value::Kind::text)) {
    for (std::size_t i = 0; i < d && a["padding"].text == "same"; ++i) {
      const Extent all = (kernel[i + 2] - Extent(1)) * Extent(dilation[i]);
      padding[i] = quotient(all, 2);
      behind[i] = all - padding[i];
    }
  } else {
    std::vector<Extent> given = to.wholes(a["padding"], "padding");
    if (given.size() == 1) given.resize(d, given[0]);
    if (given.size() != d) {
      to.fail(fmt::format("`{}` with such a padding", to.operation));
      return {};
    }
    padding = behind = given;
  }
  Extents made{from[0], kernel[0]}, over{kernel[1]};
  for (std::size_t i = 0; i < d; ++i) {
    const Extent reach = (kernel[i + 2] - Extent(1)) * Extent(dilation[i]) + Extent(1);
    made.push_back(quotient(from[i + 2] + padding[i] + behind[i] - reach, stride[i]) + Extent(1));
    over.push_back(kernel[i + 2]);
  }
  const Dtype type = to.promoted({Value::of(x), Value::of(weight)});
  const NodeId sum = to.reduce(Combine::sum, type, made, over, [&](const Axes& at, const Axes& in) {
    TermId channel = in[0];
    if (!to.is_one(groups)) {
      const TermId group = to.divide(at[1], to.size(quotient(kernel[0], groups)));
      channel = to.add(to.multiply(group, to.size(kernel[1])), in[0]);
    }
    Axes place{at[0], channel}, tap{at[1], in[0]};
    TermId inside = -1;
    for (std::size_t i = 0; i < d; ++i) {
      const TermId begin = to.subtract(to.multiply(at[i + 2], to.index(stride[i])), to.size(padding[i]));
      place.push_back(to.add(begin, to.multiply(in[i + 1], to.index(dilation[i]))));
      if (!padding[i].is(0) || !behind[i].is(0)) inside = to.both(inside, to.within(place.back(), from[i + 2]));
      tap.push_back(in[i + 1]);
    }
    return to.multiply(to.graph.cast(to.graph.load(x, place, inside), type),
                       to.graph.cast(to.graph.load(weight, tap), type));
  });
  return without_batch(to, with_bias(to, sum, a["bias"], d), taps->single);
}

// out[o] sums x[i] * w[k] over all i * stride - padding + k * dilation == o.
Value lower_transposed(Lowering& to, const Arguments& a) {
  const std::size_t d = dimensions_of(a.function);
  const auto taps = read_taps(to, a, d);
  if (!taps) return {};
  const Extents &from = taps->from, &kernel = taps->kernel;
  const Numbers padding = to.constants(a["padding"], d, "padding");
  const Numbers more = to.constants(a["output_padding"], d, "output_padding");
  if (to.failed()) return {};
  const Extent inputs = quotient(kernel[0], taps->groups);  // channels of a group
  Extents made{from[0], kernel[1] * taps->groups}, over{inputs};
  for (std::size_t i = 0; i < d; ++i) {
    made.push_back((from[i + 2] - Extent(1)) * Extent(taps->stride[i]) - Extent(2 * padding[i]) +
                   (kernel[i + 2] - Extent(1)) * Extent(taps->dilation[i]) + Extent(more[i] + 1));
    over.push_back(kernel[i + 2]);
  }
  const Dtype type = to.promoted({Value::of(taps->x), Value::of(taps->weight)});
  const NodeId sum = to.reduce(Combine::sum, type, made, over, [&](const Axes& at, const Axes& in) {
    TermId channel = in[0], out = at[1];
    if (!to.is_one(taps->groups)) {
      const TermId group = to.divide(at[1], to.size(kernel[1]));
      channel = to.add(to.multiply(group, to.size(inputs)), in[0]);
      out = to.graph.apply(ScalarOp::truncated_remainder, at[1], to.size(kernel[1]));
    }
    Axes place{at[0], channel}, tap{channel, out};
    TermId inside = -1;
    for (std::size_t i = 0; i < d; ++i) {
      const TermId distance = to.subtract(to.plus(at[i + 2], static_cast<double>(padding[i])),
                                          to.multiply(in[i + 1], to.index(taps->dilation[i])));
      const TermId source = to.divide(distance, to.index(taps->stride[i]));
      inside = to.both(inside, to.graph.apply(ScalarOp::less_equal, to.index(0), distance));
      inside = to.both(inside, to.less(source, to.size(from[i + 2])));
      if (taps->stride[i] != 1) {
        const TermId rest = to.graph.apply(ScalarOp::truncated_remainder, distance, to.index(taps->stride[i]));
        inside = to.both(inside, to.graph.apply(ScalarOp::equal, rest, to.index(0)));
      }
      place.push_back(source);
      tap.push_back(in[i + 1]);
    }
    return to.multiply(to.graph.cast(to.graph.load(taps->x, place, inside), type),
                       to.graph.cast(to.graph.load(taps->weight, tap), type));
  });
  return without_batch(to, with_bias(to, sum, a["bias"], d), taps->single);
}

// ---- Pooling ----

struct Window {
  Numbers length, stride, padding, dilation;
  bool ceiling = false;
};

Window read_window(Lowering& to, const Arguments& a, std::size_t d) {
  Window made;
  made.length = to.constants(a["kernel_size"], d, "kernel_size");
  const bool own_stride = a.has("stride") && !(a["stride"].is(Value::Kind::list) && a["stride"].items.empty());
  made.stride = own_stride ? to.constants(a["stride"], d, "stride") : made.length;
  made.padding = a.has("padding") ? to.constants(a["padding"], d, "padding") : Numbers(d, 0);
  made.dilation = Numbers(d, 1);
  made.ceiling = to.flag(a["ceil_mode"], "ceil_mode");
  positive(to, made.length);
  positive(to, made.stride);
  return made;
}

Extent pooled_extent(Lowering& to, const Extent& from, const Window& window, std::size_t i) {
  const std::int64_t reach = (window.length[i] - 1) * window.dilation[i] + 1;
  const Extent space = from + Extent(2 * window.padding[i] - reach);
  const Extent down = quotient(space, window.stride[i]) + Extent(1);
  if (!window.ceiling) return down;
  const Extent up = quotient(space + Extent(window.stride[i] - 1), window.stride[i]) + Extent(1);
  if (to.same(up, down)) return down;
  // The last window must begin inside the input or its left padding.
  const Extent begin = (up - Extent(1)) * Extent(window.stride[i]) + Extent(1);
  if (to.at_most(begin, from + Extent(window.padding[i]))) return up;
  if (to.at_most(from + Extent(window.padding[i] + 1), begin)) return up - Extent(1);
  to.fail(fmt::format("`{}` whose `ceil_mode` depends on sizes", to.operation));
  return down;
}

NodeId pool(Lowering& to, NodeId x, const Window& window, Combine combine, const std::function<TermId(TermId)>& each) {
  const std::size_t d = window.length.size();
  const Extents from = to.shape(x);
  Extents made{from[0], from[1]}, over;
  bool outside = window.ceiling;
  for (std::size_t i = 0; i < d; ++i) {
    made.push_back(pooled_extent(to, from[i + 2], window, i));
    over.emplace_back(window.length[i]);
    outside = outside || window.padding[i] != 0;
  }
  const TermId none = identity_of(to.graph, combine, to.dtype(x));
  return to.reduce(combine, to.dtype(x), made, over, [&](const Axes& at, const Axes& in) {
    Axes place{at[0], at[1]};
    TermId inside = -1;
    for (std::size_t i = 0; i < d; ++i) {
      const TermId begin = to.subtract(to.multiply(at[i + 2], to.index(window.stride[i])), to.index(window.padding[i]));
      place.push_back(to.add(begin, to.multiply(in[i], to.index(window.dilation[i]))));
      if (outside) inside = to.both(inside, to.within(place.back(), from[i + 2]));
    }
    const TermId value = each(to.graph.load(x, place, inside));
    return inside < 0 ? value : to.graph.select(inside, value, none);
  });
}

Value lower_max_pool(Lowering& to, const Arguments& a) {
  const std::size_t d = dimensions_of(a.function);
  NodeId x = to.tensor(a["input"]);
  const bool single = with_batch(to, x, d);
  if (to.failed()) return {};
  Window window = read_window(to, a, d);
  if (a.has("dilation")) window.dilation = to.constants(a["dilation"], d, "dilation");
  if (to.flag(a["return_indices"], "return_indices")) to.fail(fmt::format("`{}` with `return_indices`", to.operation));
  if (to.failed() || !positive(to, window.dilation)) return {};
  return without_batch(to, pool(to, x, window, Combine::maximum, [](TermId t) { return t; }), single);
}

Value lower_average_pool(Lowering& to, const Arguments& a) {
  const std::size_t d = dimensions_of(a.function);
  NodeId x = to.tensor(a["input"]);
  const bool single = with_batch(to, x, d);
  if (to.failed()) return {};
  const Window window = read_window(to, a, d);
  const bool count_padding = to.flag(a["count_include_pad"], "count_include_pad");
  const std::int64_t divisor =
      a.has("divisor_override") ? to.constant_whole(a["divisor_override"], "divisor_override") : 0;
  if (to.failed()) return {};
  const Extents from = to.shape(x);
  const NodeId sum = pool(to, x, window, Combine::sum, [](TermId t) { return t; });
  if (to.failed()) return {};
  const Dtype type = to.dtype(x);
  const NodeId made = to.map(type, to.shape(sum), [&](const Axes& at) {
    TermId count = to.index(1);
    for (std::size_t i = 0; i < d; ++i) {
      const TermId begin = to.subtract(to.multiply(at[i + 2], to.index(window.stride[i])), to.index(window.padding[i]));
      const TermId end = to.plus(begin, static_cast<double>(window.length[i]));
      // Padding counts as far as it was asked for; what a ceiling adds behind it never does.
      const TermId last = to.size(from[i + 2] + Extent(count_padding ? window.padding[i] : 0));
      const bool whole = (count_padding || window.padding[i] == 0) && !window.ceiling;
      const TermId first = count_padding ? begin : to.graph.apply(ScalarOp::maximum, begin, to.index(0));
      const TermId reach = to.subtract(to.graph.apply(ScalarOp::minimum, end, last), first);
      count = to.multiply(count, whole ? to.index(window.length[i]) : reach);
    }
    const TermId value = to.read(sum, at);
    if (divisor != 0) return to.divide(value, to.number(static_cast<double>(divisor), type));
    return to.divide(value, to.graph.cast(count, type));
  });
  return without_batch(to, made, single);
}

// Whole divisors only: then every window has the same length.
Value lower_adaptive_pool(Lowering& to, const Arguments& a) {
  const std::size_t d = dimensions_of(a.function);
  NodeId x = to.tensor(a["input"]);
  const bool single = with_batch(to, x, d);
  if (to.failed()) return {};
  std::vector<Value> sizes =
      a["output_size"].is(Value::Kind::list) ? a["output_size"].items : std::vector<Value>(1, a["output_size"]);
  if (sizes.size() == 1) sizes.resize(d, sizes[0]);
  const Extents from = to.shape(x);
  Extents made{from[0], from[1]}, over;
  for (std::size_t i = 0; i < d && sizes.size() == d; ++i) {
    const Extent wanted = sizes[i].is(Value::Kind::none) ? from[i + 2] : to.whole(sizes[i], "output_size");
    const Extent length = quotient(from[i + 2], wanted);
    if (!to.same(length * wanted, from[i + 2])) {
      to.fail(fmt::format("`{}` from {} to {}", to.operation, from[i + 2].text(), wanted.text()));
      return {};
    }
    made.push_back(wanted);
    over.push_back(length);
  }
  if (made.size() != d + 2) to.fail(fmt::format("`{}` with such an output size", to.operation));
  if (to.failed()) return {};
  const bool greatest = a.function.find("max") != std::string::npos;
  const NodeId pooled = to.reduce(greatest ? Combine::maximum : Combine::sum, to.dtype(x), made, over,
                                  [&](const Axes& at, const Axes& in) {
                                    Axes place{at[0], at[1]};
                                    for (std::size_t i = 0; i < d; ++i)
                                      place.push_back(to.add(to.multiply(at[i + 2], to.size(over[i])), in[i]));
                                    return to.graph.load(x, place);
                                  });
  if (greatest) return without_batch(to, pooled, single);
  const Extent count = elements_of(over);
  const NodeId mean = to.elements(std::vector<NodeId>{pooled}, [&](const Terms& t) {
    return to.divide(t[0], to.number_term(Value::of_whole(count), to.graph.term(t[0]).dtype));
  });
  return without_batch(to, mean, single);
}

// (sum over the window of x ** p) ** (1 / p)
Value lower_power_pool(Lowering& to, const Arguments& a) {
  const std::size_t d = dimensions_of(a.function);
  NodeId x = to.tensor(a["input"]);
  const bool single = with_batch(to, x, d);
  if (to.failed()) return {};
  const Window window = read_window(to, a, d);
  const double p = to.constant_real(a["norm_type"], "norm_type");
  if (to.failed()) return {};
  const NodeId sum = pool(to, x, window, Combine::sum, [&](TermId t) {
    if (p == 2) return to.multiply(t, t);
    return p == 1 ? t : to.graph.apply(ScalarOp::power, t, to.number(p, to.graph.term(t).dtype));
  });
  // PyTorch: sign(sum) * relu(|sum|), then the root.
  const NodeId root = p == 1   ? sum
                      : p == 2 ? to.unary(ScalarOp::square_root, sum)
                               : to.with(ScalarOp::power, sum, 1 / p);
  return without_batch(to, root, single);
}

// F.unfold: [n, c, h, w] to [n, c * kh * kw, blocks].
Value lower_unfold(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  const Numbers length = to.constants(a["kernel_size"], 2, "kernel_size"),
                stride = to.constants(a["stride"], 2, "stride");
  const Numbers padding = to.constants(a["padding"], 2, "padding"),
                dilation = to.constants(a["dilation"], 2, "dilation");
  if (to.failed() || !positive(to, stride) || !positive(to, dilation) || !positive(to, length)) return {};
  if (to.rank(x) != 4) {
    to.fail("`unfold` of other than four dimensions");
    return {};
  }
  const Extents from = to.shape(x);
  Extent blocks[2];
  for (std::size_t i = 0; i < 2; ++i)
    blocks[i] =
        quotient(from[i + 2] + Extent(2 * padding[i] - (length[i] - 1) * dilation[i] - 1), stride[i]) + Extent(1);
  const Extents made{from[0], from[1] * Extent(length[0] * length[1]), blocks[0] * blocks[1]};
  return Value::of(to.map(to.dtype(x), made, [&](const Axes& at) {
    const auto rest = [&](TermId t, TermId by) { return to.graph.apply(ScalarOp::truncated_remainder, t, by); };
    const TermId taps = to.index(length[0] * length[1]), width = to.index(length[1]), across = to.size(blocks[1]);
    const TermId tap = rest(at[1], taps);
    const TermId starts[2] = {to.divide(at[2], across), rest(at[2], across)};
    const TermId offsets[2] = {to.divide(tap, width), rest(tap, width)};
    Axes place{at[0], to.divide(at[1], taps)};
    TermId inside = -1;
    for (std::size_t i = 0; i < 2; ++i) {
      const TermId begin = to.subtract(to.multiply(starts[i], to.index(stride[i])), to.index(padding[i]));
      place.push_back(to.add(begin, to.multiply(offsets[i], to.index(dilation[i]))));
      if (padding[i] != 0) inside = to.both(inside, to.within(place.back(), from[i + 2]));
    }
    return to.graph.load(x, place, inside);
  }));
}

}  // namespace

std::span<const Operation> window_operations() {
  static const std::vector<Operation> table{
      {"conv1d conv2d conv3d", "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1",
       lower_convolution},
      {"conv_transpose1d conv_transpose2d conv_transpose3d",
       "input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1", lower_transposed},
      {"max_pool1d max_pool2d max_pool3d",
       "input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False", lower_max_pool},
      {"avg_pool1d",
       "input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None",
       lower_average_pool},
      {"avg_pool2d avg_pool3d",
       "input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None",
       lower_average_pool},
      {"adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
       "adaptive_max_pool3d",
       "input, output_size", lower_adaptive_pool},
      {"lp_pool1d lp_pool2d lp_pool3d", "input, norm_type, kernel_size, stride=None, ceil_mode=False, padding=0",
       lower_power_pool},
      {"F.unfold", "input, kernel_size, dilation=1, padding=0, stride=1", lower_unfold},
  };
  return table;
}

}  // namespace kw::program
